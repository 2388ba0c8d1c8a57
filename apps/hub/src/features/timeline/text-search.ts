import { type RawBuilder, sql } from 'kysely'

/**
 * SQL condition that a JSON text contains the given text, ignoring case. JSON of devices may hold letters as escapes (`\u00e9`), so the
 * text is searched in both forms.
 */
export function jsonContains(text: string, json: RawBuilder<unknown>): RawBuilder<boolean> {
  const written = JSON.stringify(text).slice(1, -1)
  const escaped = written.replace(
    /[^\0-\x7f]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const isIn = (form: string) => sql`strpos(lower(${json}::text), lower(${form}::text)) > 0`
  return escaped === written
    ? sql<boolean>`${isIn(written)}`
    : sql<boolean>`(${isIn(written)} or ${isIn(escaped)})`
}

/** Whether one of `texts` contains `text`, ignoring case; true if `text` is undefined. */
export function hasText(text: string | undefined, ...texts: (string | null | undefined)[]): boolean {
  if (text === undefined) return true
  const needle = text.toLowerCase()
  return texts.some(one => one?.toLowerCase().includes(needle))
}
