/** Longest text of a device in a sentence, in characters. A property may hold up to 1 MiB. */
export const LONGEST_TEXT = 300

/** A text that is truncated, with "…", where it is longer than `maxChars`. */
export function cut(text: string, maxChars = LONGEST_TEXT): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
}
