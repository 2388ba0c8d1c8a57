import { memberText } from '@muster/actions/exact-json'
import { type RawBuilder, sql } from 'kysely'

/** The text of an input's `metadata`, so that numbers beyond doubles keep their digits; an empty object when there is none. */
export function metadataText(inputText: string, metadata: object | undefined): string {
  return metadata === undefined ? '{}' : memberText(inputText, 'metadata')!
}

/** A `metadata` column for an answer: its text goes out as the database has it, although its type says a parsed object. */
export function metadataOf(column: string): RawBuilder<Record<string, unknown>> {
  return sql<Record<string, unknown>>`${sql.ref(column)}::json`
}
