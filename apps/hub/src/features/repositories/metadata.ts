import { memberText } from '@muster/actions/exact-json'
import { type RawBuilder, sql } from 'kysely'

/** Part of a command's context that decides about metadata. */
type MetadataContext = {
  inputText: string
  scope: { organizationId?: string }
  services: { storedBytes: { requireOrganizationRoom(organizationId: string): void } }
}

/** JSON text of `metadata` without members. */
const NONE = '{}'

/**
 * JSON text of `metadata` in an input, or `{}` if it is absent. Numbers in the text keep digits that `JSON.parse` would round. Throws
 * `LimitReached` for metadata with members while the organization stores more than `organization-bytes`.
 */
export function metadataText(
  { inputText, scope, services }: MetadataContext,
  metadata: object | undefined,
): string {
  const text = metadata === undefined ? NONE : memberText(inputText, 'metadata')!
  if (text !== NONE) services.storedBytes.requireOrganizationRoom(scope.organizationId!)
  return text
}

/** Selects a `metadata` column for an answer. The value is raw JSON at run time; only its TypeScript type says that it is an object. */
export function metadataOf(column: string): RawBuilder<Record<string, unknown>> {
  return sql<Record<string, unknown>>`${sql.ref(column)}::json`
}
