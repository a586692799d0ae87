/** A JSON object as somebody typed it, or null. */
export function readObject(text: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(text || "{}");
    return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
