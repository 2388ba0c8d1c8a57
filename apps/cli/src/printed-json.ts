/**
 * Indented JSON for people and programs. Characters that could control a terminal are escaped, which JSON parsers undo.
 */
export function printedJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
