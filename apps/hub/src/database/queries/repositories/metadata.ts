import { memberText } from '@muster/actions/exact-json'
import { type RawBuilder, sql } from 'kysely'

/** JSON text of `metadata` in an input, or `{}` if it is absent. Numbers in the text keep digits that `JSON.parse` would round. */
export function metadataText(inputText: string, metadata: object | undefined): string {
  return metadata === undefined ? '{}' : memberText(inputText, 'metadata')!
}

/** Selects a `metadata` column for an answer. The value is raw JSON at run time; only its TypeScript type says that it is an object. */
export function metadataOf(column: string): RawBuilder<Record<string, unknown>> {
  return sql<Record<string, unknown>>`${sql.ref(column)}::json`
}
