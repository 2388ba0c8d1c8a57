/**
 * Formats a value as JSON, indented by default. Characters that could control a terminal are written as `\u` escapes, which JSON parsers
 * decode.
 */
export function printedJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
