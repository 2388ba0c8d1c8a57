/** Maximum length, in characters, of text from a device within a sentence. A property may hold up to 1 MiB. */
export const LONGEST_TEXT = 300

/** Truncates a text that is longer than `maxChars`, and appends "…". */
export function cut(text: string, maxChars = LONGEST_TEXT): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
}
