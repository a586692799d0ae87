/** What the bytes of a response body are. */

/**
 * Pictures that hold no script, by their first bytes: what a server calls them is not believed. SVG and HTML are never
 * shown.
 */
export const PICTURES: [string, (bytes: Uint8Array) => boolean][] = [
  ["image/png", (bytes) => begins(bytes, 0, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)],
  ["image/jpeg", (bytes) => begins(bytes, 0, 0xff, 0xd8, 0xff)],
  ["image/gif", (bytes) => begins(bytes, 0, 0x47, 0x49, 0x46, 0x38)],
  ["image/webp", (bytes) => begins(bytes, 0, 0x52, 0x49, 0x46, 0x46) && begins(bytes, 8, 0x57, 0x45, 0x42, 0x50)],
];

const begins = (bytes: Uint8Array, start: number, ...wanted: number[]): boolean =>
  wanted.every((each, place) => bytes[start + place] === each);

/** The type of a picture that may be shown; null: it is none. */
export const pictureType = (bytes: Uint8Array): string | null => PICTURES.find(([, fits]) => fits(bytes))?.[0] ?? null;

/** Whether text would show nothing but replaced characters: more than one in twenty could not be read. */
export function isBinary(text: string): boolean {
  const start = text.slice(0, 4_000);
  const strange = start.match(/\ufffd|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\0/gi)?.length ?? 0;
  return strange > 0 && strange * 20 > start.length / 2;
}
