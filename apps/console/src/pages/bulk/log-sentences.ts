import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'
import type { BulkKind } from './shared/bulk-words.ts'

/** Sentences for the audit events of bulk actions. */
export const bulkEvents = {
  devices_BulkActionStarted: {
    kind: 'device',
    say: entry => `began ${bulkWords(entry, '[itemCount]')} of {projectId}`,
  },
  devices_BulkActionCancelled: {
    kind: 'device',
    say: entry => `cancelled ${bulkWords(entry)} of {projectId} after [doneCount]`,
  },
  devices_BulkActionStopped: {
    kind: 'device',
    say: entry =>
      `stopped ${bulkWords(entry)} of {projectId} after [doneCount], because the rights of the person ended`,
  },
} as const satisfies EventSentences<'bulk'>

/** Phrases for the actions that prepare, start and cancel bulk actions. */
export const bulkActions = {
  devices_CreateBulkDecision: { kind: 'certificate', say: 'review certificates of {projectId}' },
  devices_CreateBulkDeletion: { kind: 'device', say: 'review devices of {projectId} to delete' },
  devices_CreateBulkLabels: { kind: 'property', say: 'review labels of devices of {projectId}' },
  devices_CreateBulkRename: { kind: 'device', say: 'review new names of devices of {projectId}' },
  devices_CreateBulkImport: { kind: 'device', say: 'begin an import of names and labels of {projectId}' },
  devices_AddBulkImportRows: {
    kind: 'device',
    say: 'add rows to an import of names and labels of {projectId}',
  },
  devices_StartBulkChange: {
    kind: 'device',
    say: 'change labels or names of several devices of {projectId}',
  },
  devices_StartBulkUndo: { kind: 'device', say: 'undo a change of several devices of {projectId}' },
  devices_StartBulkDecision: { kind: 'certificate', say: 'decide several certificates of {projectId}' },
  devices_StartBulkDeletion: { kind: 'device', say: 'delete several devices of {projectId}' },
  devices_CancelBulkAction: { kind: 'device', say: 'cancel a bulk action of {projectId}' },
} as const satisfies ActionPhrases<'bulk'>

const BULK_WORDS = new Map<unknown, [verb: string, thing: string]>(
  Object.entries({
    Accept: ['accepting', 'certificate'],
    Reject: ['rejecting', 'certificate'],
    Delete: ['deleting', 'device'],
    SetLabels: ['changing labels of', 'device'],
    Rename: ['renaming', 'device'],
    Import: ['importing names and labels of', 'device'],
    Undo: ['undoing a change of', 'device'],
  } satisfies Record<BulkKind, [verb: string, thing: string]>),
)

/** A bulk action in words: "deleting [itemCount] devices". */
function bulkWords({ data }: { data: { kind?: string; itemCount?: number } }, count = ''): string {
  const [verb, thing] = BULK_WORDS.get(data.kind) ?? ['<kind>', 'device']
  const isOne = count !== '' && data.itemCount === 1
  return [verb, count, isOne ? thing : `${thing}s`].filter(Boolean).join(' ')
}
