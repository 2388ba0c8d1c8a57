/** Maximum length, in characters, of a device's text within a sentence. A property may hold up to 1 MiB. */
export const LONGEST_TEXT = 300

/** A text that is truncated, with "…", where it is longer than `maxChars`. */
export function cut(text: string, maxChars = LONGEST_TEXT): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
}
