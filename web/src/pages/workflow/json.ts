function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A JSON object as somebody typed it, or null. */
export function readObject(text: string): Record<string, unknown> | null {
  const found = read(text || "{}");
  return typeof found === "object" && found !== null && !Array.isArray(found)
    ? (found as Record<string, unknown>)
    : null;
}

/** A JSON list as somebody typed it, or null. What is in it, the server checks. */
export function readList<Item>(text: string): Item[] | null {
  const found = read(text || "[]");
  return Array.isArray(found) ? found : null;
}
