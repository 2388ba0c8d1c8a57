/**
 * Formats a value as indented JSON. Characters that could control a terminal are written as `\u` escapes, which JSON parsers
 * decode.
 */
export function printedJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
