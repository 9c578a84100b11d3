/** Ids that text from outside may or may not be. */

/** The id in lower case, or null when it is no UUID. */
export function uuidOrNull(text: string | undefined): string | null {
  return text !== undefined && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
    ? text.toLowerCase()
    : null;
}
