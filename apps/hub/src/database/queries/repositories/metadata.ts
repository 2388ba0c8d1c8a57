import { memberText } from '@muster/actions/exact-json'
import { type RawBuilder, sql } from 'kysely'

/** JSON text of an input's `metadata`, whose numbers keep digits beyond those of doubles; an empty object if absent. */
export function metadataText(inputText: string, metadata: object | undefined): string {
  return metadata === undefined ? '{}' : memberText(inputText, 'metadata')!
}

/** Selects a `metadata` column for an answer. The value is raw JSON at run time; only its TypeScript type says that it is an object. */
export function metadataOf(column: string): RawBuilder<Record<string, unknown>> {
  return sql<Record<string, unknown>>`${sql.ref(column)}::json`
}
