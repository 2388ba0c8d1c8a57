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
