import type { ActionOutput } from '@muster/actions/client'
import { MAX_LABELS } from '@muster/predicates'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { lookUp } from '../../../lib/app/look-up.ts'

/** A bulk action, as the hub returns it. */
export type BulkAction = ActionOutput<'devices_GetBulkAction'>
/** Result for one device or certificate of a bulk action. */
export type BulkItem = ActionOutput<'devices_QueryBulkActionItems'>['items'][number]
export type BulkKind = BulkAction['kind']
/** Kinds that change labels and names. They are previewed in dialogs of their own, and can be undone. */
export type ChangeKind = (typeof CHANGE_KINDS)[number]
/** The other kinds. */
export type DecisionKind = Exclude<BulkKind, ChangeKind>

const CHANGE_KINDS = ['SetLabels', 'Rename', 'Import', 'Undo'] as const satisfies BulkKind[]

/** Whether a bulk action changes labels and names. */
export function isChange(kind: BulkKind): kind is ChangeKind {
  return CHANGE_KINDS.some(name => name === kind)
}

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
  SetLabels: 'changed',
  Rename: 'renamed',
  Import: 'changed',
  Undo: 'set back',
} satisfies Words
const DOING: Record<string, string> = {
  Accept: 'Accepting',
  Reject: 'Rejecting',
  Delete: 'Deleting',
  SetLabels: 'Changing labels',
  Rename: 'Renaming',
  Import: 'Importing',
  Undo: 'Undoing',
} satisfies Words

/** Word for a succeeded item: "accepted", "rejected" or "deleted"; "done" for a kind of a newer hub. */
export function doneWord(kind: BulkKind): string {
  return lookUp(DONE, kind, 'done')
}

/** Word for a running action: "Accepting", "Rejecting" or "Deleting"; the name of a kind of a newer hub. */
export function doingWord(kind: BulkKind): string {
  return lookUp(DOING, kind, kind)
}

/** Items of a preview: "2 certificates", or "2 devices" for kinds other than a decision on certificates. */
export function itemsOfPreview({ kind, itemCount }: Pick<BulkAction, 'kind' | 'itemCount'>): string {
  return counted(itemCount, kind === 'Accept' || kind === 'Reject' ? 'certificate' : 'device')
}

/** Number of items that the action did not change. */
export function refusedCount({ skippedCount, failedCount }: BulkAction): number {
  return skippedCount + failedCount
}

/** Number of devices that had the values of a change already. It is known once the bulk action has ended. */
export function alreadySetCount({ reasons = [] }: BulkAction): number {
  return reasons.find(({ reason }) => reason === 'AlreadySet')?.itemCount ?? 0
}

/** Title of the result of a change: "Label ring is early on 299 of 301 devices". */
function changeTitle(action: BulkAction): string {
  const { kind, succeededCount, itemCount, set = {}, remove = [] } = action
  const devices = itemCount - alreadySetCount(action)
  const some =
    succeededCount === devices
      ? counted(devices, 'device')
      : `${formatCount(succeededCount)} of ${counted(devices, 'device')}`
  if (kind === 'Rename') return `${some} renamed`
  if (kind === 'Undo') return `${some} set back`
  const [[key, value] = []] = Object.entries(set)
  const count = Object.keys(set).length + remove.length
  if (kind === 'SetLabels' && count === 1)
    return key === undefined
      ? `Label ${remove[0]} removed from ${some}`
      : `Label ${key} is ${value} on ${some}`
  return kind === 'SetLabels' ? `${count} labels changed on ${some}` : `${some} changed`
}

/** Title of a result: "18 accepted, 2 refused". */
export function resultTitle(action: BulkAction): string {
  if (isChange(action.kind)) return changeTitle(action)
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

/** Items of a bulk action: "20 certificates of one token and one address", or "20 devices" for a deletion or a change. */
export function subjectWords({ kind, itemCount, tokenCount, addressCount }: BulkAction): string {
  if (kind === 'Delete' || isChange(kind)) return counted(itemCount, 'device')
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
  AlreadySet: { what: 'It had this already', means: 'Nothing was to do.', next: 'device' },
  TooManyLabels: {
    what: `It has ${MAX_LABELS} labels`,
    means: 'More are not kept. Remove one first.',
    next: 'device',
  },
  ValueMissing: {
    what: 'It lacks a value that the pattern needs',
    means: 'Its name was left as it is.',
    next: 'device',
  },
  NameTooLong: {
    what: 'Its new name would be too long',
    means: 'Its name was left as it is.',
    next: 'device',
  },
  NameInvalid: {
    what: 'The pattern gives it no valid name',
    means: 'Its name was left as it is.',
    next: 'device',
  },
  ChangedMeanwhile: {
    what: 'Its label or name was changed after the preview',
    means: 'The newer value stays.',
    next: 'device',
  },
  OverLimit: {
    what: 'A limit of the hub was reached',
    means: 'It was left as it is. Try it again later.',
    next: 'device',
  },
  HubError: {
    what: 'The hub could not do this',
    means: 'Nothing was changed. Its log has the reason.',
    next: 'again',
  },
}

/** The reason why the bulk action did not change an item. */
export function reasonOf({ reason = 'HubError' }: BulkItem): Reason {
  return lookUp(REASONS, reason, REASONS.HubError)
}
