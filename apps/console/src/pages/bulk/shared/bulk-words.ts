import type { ActionOutput } from '@muster/actions/client'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { lookUp } from '../../../lib/app/look-up.ts'

/** A bulk action, as the hub returns it. */
export type BulkAction = ActionOutput<'devices_GetBulkAction'>
/** Result for one device or certificate of a bulk action. */
export type BulkItem = ActionOutput<'devices_QueryBulkActionItems'>['items'][number]
export type BulkKind = BulkAction['kind']

/** Maximum number of items that the hub processes before it answers (`MAX_INLINE_BULK_ITEMS` of the contract). */
export const MAX_INLINE = 200

/** Whether a bulk action has not ended yet. */
export function isUnfinished({ status }: BulkAction): boolean {
  return status === 'Waiting' || status === 'Running'
}

type Words = Record<BulkKind, string>
const DONE: Record<string, string> = {
  Accept: 'accepted',
  Reject: 'rejected',
  Delete: 'deleted',
} satisfies Words
const DOING: Record<string, string> = {
  Accept: 'Accepting',
  Reject: 'Rejecting',
  Delete: 'Deleting',
} satisfies Words

/** Word for a succeeded item: "accepted", "rejected" or "deleted"; "done" for a kind of a newer hub. */
export function doneWord(kind: BulkKind): string {
  return lookUp(DONE, kind, 'done')
}

/** Word for a running action: "Accepting", "Rejecting" or "Deleting"; the name of a kind of a newer hub. */
export function doingWord(kind: BulkKind): string {
  return lookUp(DOING, kind, kind)
}

/** Items of a preview: "2 certificates", or "2 devices" for a deletion. */
export function itemsOfPreview({ kind, itemCount }: Pick<BulkAction, 'kind' | 'itemCount'>): string {
  return counted(itemCount, kind === 'Delete' ? 'device' : 'certificate')
}

/** Number of items that the action did not change. */
export function refusedCount({ skippedCount, failedCount }: BulkAction): number {
  return skippedCount + failedCount
}

/** Title of a result: "18 accepted, 2 refused". */
export function resultTitle(action: BulkAction): string {
  const refused = refusedCount(action)
  const done = `${formatCount(action.succeededCount)} ${doneWord(action.kind)}`
  return refused > 0 ? `${done}, ${formatCount(refused)} refused` : done
}

/** Progress in words: "Accepting, 640 of 1,204, 3 refused". */
export function progressWords(action: BulkAction): string {
  const refused = refusedCount(action)
  const done = action.succeededCount + refused
  const words = `${doingWord(action.kind)}, ${formatCount(done)} of ${formatCount(action.itemCount)}`
  return refused > 0 ? `${words}, ${formatCount(refused)} refused` : words
}

/** Items of a bulk action: "20 certificates of one token and one address", or "20 devices" for a deletion. */
export function subjectWords({ kind, itemCount, tokenCount, addressCount }: BulkAction): string {
  if (kind === 'Delete') return counted(itemCount, 'device')
  // The hub counts tokens and addresses only after the bulk action has ended. Until then, both counts are 0.
  if (tokenCount === 0) return counted(itemCount, 'certificate')
  return `${counted(itemCount, 'certificate')} of ${oneOr(tokenCount, 'token')} and ${oneOr(addressCount, 'address')}`
}

/** A count with its noun: "one token", "3 tokens", "2 addresses". */
export function oneOr(count: number, noun: 'token' | 'address'): string {
  if (count === 1) return `one ${noun}`
  return `${formatCount(count)} ${noun === 'address' ? 'addresses' : 'tokens'}`
}

type Reason = {
  /** Words before "by …": "The device was deleted". */
  what: string
  /** Sentence that explains the reason. */
  means: string
  next: 'device' | 'log' | 'again' | undefined
}

const REASONS: Record<NonNullable<BulkItem['reason']>, Reason> = {
  DeviceDeleted: {
    what: 'The device was deleted',
    means: 'If it still runs, it appears here again as a new device.',
    next: 'log',
  },
  CertificateDeleted: {
    what: 'The certificate was deleted',
    means: 'If the device still uses it, it appears here again.',
    next: 'device',
  },
  AlreadyAccepted: {
    what: 'The certificate was accepted',
    means: 'An accepted certificate can only be revoked.',
    next: 'device',
  },
  AlreadyRejected: {
    what: 'The certificate was rejected',
    means: 'A rejected certificate stays rejected. The device needs a new one.',
    next: 'device',
  },
  AlreadyRevoked: {
    what: 'The certificate was revoked',
    means: 'A revoked certificate stays revoked. The device needs a new one.',
    next: 'device',
  },
  NoLongerMatches: {
    what: 'The device no longer matched the filter',
    means: 'It was left as it is.',
    next: 'device',
  },
  HubError: {
    what: 'The hub could not do this',
    means: 'Nothing was changed. Its log has the reason.',
    next: 'again',
  },
}

/** The reason why the bulk action did not change an item. */
export function reasonOf({ reason }: BulkItem): Reason {
  return REASONS[reason ?? 'HubError']
}
