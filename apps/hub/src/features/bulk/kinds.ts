import type { BulkActionKind } from '@muster/actions'
import { bulkDecision } from '../approvals/index.ts'
import { bulkDeletion } from '../devices/index.ts'
import type { BulkKind } from './bulk-kind.ts'

/** All kinds of bulk actions. */
export const BULK_KINDS: Record<BulkActionKind, BulkKind> = {
  Accept: bulkDecision('Active'),
  Reject: bulkDecision('Rejected'),
  Delete: bulkDeletion,
}

/** The kind with this name; undefined for a bulk action that a node of a newer release created. */
export function knownKind(name: string): BulkKind | undefined {
  return Object.hasOwn(BULK_KINDS, name) ? BULK_KINDS[name as BulkActionKind] : undefined
}
