/**
 * Regular expressions for the OpenAPI document. They describe rules that the hub checks in code. They avoid lookaheads, `\p`
 * and `\s`, because support for these differs between languages.
 */

/** Control characters, for use inside a character class. */
export const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f'
/** White space that `trim()` removes, for use inside a character class. */
export const BLANKS = '\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff'

/**
 * Characters that cannot be seen, for use inside a character class: blanks, format characters and fillers. Those above U+FFFF are written
 * as themselves, because languages differ in how they escape them.
 */
const INVISIBLE =
  ' \\u00a0\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890-\\u0891\\u08e2\\u115f-\\u1160\\u1680\\u17b4-\\u17b5\\u180b-\\u180f' +
  '\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb' +
  '\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}'

/** Text with a character that can be seen. */
export const VISIBLE_TEXT = `[^${INVISIBLE}]`

/** Text without characters that change the direction of the text around them, such as U+202E. */
export const UNDIRECTED_TEXT = '^[^\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]*$'

/** Blank or empty text. */
export const BLANK_TEXT = `^[${BLANKS}]*$`

/** Text without NUL, which PostgreSQL cannot store. */
export const STORABLE_TEXT = '^[^\\u0000]*$'

/** Text without control characters that has 1 to `max` characters after trimming. */
export function trimmedText(max: number): string {
  const end = `[^${CONTROLS}${BLANKS}]`
  return `^[${BLANKS}]*${end}([^${CONTROLS}]{0,${max - 2}}${end})?[${BLANKS}]*$`
}

const ADDRESS_PART = `[^@<>()\\[\\]\\\\,;:"${CONTROLS}${BLANKS}]`
/** An email address, with or without surrounding blanks. */
export const EMAIL_TEXT = `^[${BLANKS}]*${ADDRESS_PART}+@${ADDRESS_PART}+\\.${ADDRESS_PART}+[${BLANKS}]*$`

/** Returns a pattern for a decimal integer from 0 to `max`, with at most as many digits as `max`. */
export function decimalUpTo(max: bigint): string {
  const digits = String(max)
  const lower = [...digits].flatMap((digit, at) =>
    digit === '0' ? [] : [`${digits.slice(0, at)}[0-${Number(digit) - 1}][0-9]{${digits.length - at - 1}}`],
  )
  return `([0-9]{1,${digits.length - 1}}|${lower.join('|')}|${digits})`
}

/** A path segment that is not empty, `.` or `..` and has at most `max` characters. */
function pathPart(max: number): string {
  const any = `[^/\\\\${CONTROLS}]`
  const noDot = `[^./\\\\${CONTROLS}]`
  return `(${noDot}${any}{0,${max - 1}}|\\.${noDot}${any}{0,${max - 2}}|\\.\\.${any}{1,${max - 2}})`
}

/** A relative path whose segments are not empty, `.` or `..` and have at most `max` characters each. */
export function relativePath(max: number): string {
  return `^${pathPart(max)}(/${pathPart(max)})*$`
}

/** Like `relativePath`, but all segments may be empty, including the first and the last. */
export function pathWithEmptyParts(max: number): string {
  return `^(${pathPart(max)})?(/(${pathPart(max)})?)*$`
}

const BYTE = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const LABEL = '[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?'
const GROUP = '[0-9a-fA-F]{1,4}'
/** IPv6 address: eight groups, or fewer groups with one `::`. */
const IPV6 = `(${GROUP}(:${GROUP}){7}|(${GROUP}(:${GROUP}){0,3})?::(${GROUP}(:${GROUP}){0,2})?|${GROUP}(:${GROUP}){4,5}::(${GROUP})?)`
const HOST = `((${LABEL}\\.)*[a-zA-Z]([a-zA-Z0-9-]*[a-zA-Z0-9])?|${BYTE}(\\.${BYTE}){3}|\\[${IPV6}\\])`
const PORT = `:${decimalUpTo(65535n)}`
/** An http(s) URL without credentials, query and fragment. */
export const BASE_URL = `^[${BLANKS}]*[hH][tT][tT][pP][sS]?://${HOST}(${PORT})?(/[^?#${CONTROLS}]*)?[${BLANKS}]*$`

const hex = (digits: number): string => `[0-9a-fA-F]{${digits}}`
/** Algorithm name and hexadecimal digits of a digest, in any case and with all accepted separators. */
export const DIGEST_TEXT = `^[sS][hH][aA](256[_:]${hex(64)}|512[_-]256[_:]${hex(64)}|512[_:]${hex(128)})$`

/** RFC 3339 timestamp from the year 1 on, with up to nine fractional digits and an offset below 16 hours. */
export const TIMESTAMP_TEXT =
  '^([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])' +
  'T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-](0[0-9]|1[0-5]):[0-5][0-9])$'
