import { BULK_CHANGE_KINDS, type BulkActionKind } from '@muster/actions'
import { bulkDecision } from '../approvals/index.ts'
import { bulkDeletion } from '../devices/index.ts'
import type { BulkKind } from './bulk-kind.ts'
import { bulkChange } from './changes/bulk-change.ts'

/** All kinds of bulk actions. */
export const BULK_KINDS: Record<BulkActionKind, BulkKind> = {
  Accept: bulkDecision('Active'),
  Reject: bulkDecision('Rejected'),
  Delete: bulkDeletion,
  SetLabels: bulkChange,
  Rename: bulkChange,
  Import: bulkChange,
  Undo: bulkChange,
}

/** The kind with this name; undefined for a bulk action that a node of a newer release created. */
export function knownKind(name: string): BulkKind | undefined {
  return Object.hasOwn(BULK_KINDS, name) ? BULK_KINDS[name as BulkActionKind] : undefined
}

/** Whether bulk actions of a kind change labels and names. They also run for user tokens, and can be undone. */
export function isChange(kind: string): boolean {
  return BULK_CHANGE_KINDS.some(name => name === kind)
}
