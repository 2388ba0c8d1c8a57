import { stringify } from './exact-json.ts'

/** Mark at the beginning of a file. Without it Excel reads a CSV file in the encoding of the system's language instead of UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF'
/**
 * Place in a text at which a spreadsheet would begin a formula. Where `;` separates cells, as in Excel with most European languages, quotes in
 * the middle of a cell protect nothing: the text also has such a place behind `;` and behind a line break. Excel takes the full-width signs
 * for the plain ones.
 */
const FORMULA_START = /(^|[;\r\n])(?=[" \t]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g
/** A semicolon in JSON text before such a place. */
const FORMULA_IN_JSON = /;(?=(?:\\t|[\\" ])*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g

/** Formats a line of CSV (RFC 4180). Texts that a spreadsheet would run as a formula get an apostrophe before them. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvField).join(',')}\r\n`
}

function csvField(value: unknown): string {
  if (value === undefined || value === null) return ''
  // An apostrophe keeps spreadsheets from running the text behind it as a formula. JSON stays JSON with the same value: in it, `;` occurs only
  // in strings. Numbers are not text and stay unchanged.
  const safe =
    typeof value === 'string'
      ? value.replace(/^[\t\r\n]/, "'$&").replace(FORMULA_START, "$1'")
      : stringify(value).replace(FORMULA_IN_JSON, '\\u003b')
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
