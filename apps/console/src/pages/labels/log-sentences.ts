import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of labels. */
export const labelEvents = {
  devices_LabelSet: {
    kind: 'property',
    say: ({ old }) =>
      old?.value === undefined
        ? 'set the label <key> of {deviceId} to [value]'
        : 'changed the label <key> of {deviceId} from [old.value] to [value]',
  },
  devices_LabelRemoved: { kind: 'property', say: 'removed the label <key> [old.value] of {deviceId}' },
  devices_ReportedLabelsMoved: {
    kind: 'property',
    say: 'moved what {deviceId} had written as its labels to dev.muster.labels.before',
  },
} as const satisfies EventSentences<'labels'>

/** Phrases for the logged actions on labels. */
export const labelActions = {
  devices_SetLabels: { kind: 'property', say: 'change labels of {deviceId}' },
} as const satisfies ActionPhrases<'labels'>
