import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of operations. */
export const operationEvents = {
  devices_OperationCreated: { kind: 'device', say: 'created the operation [name] of {deviceId}' },
  devices_OperationStarted: { kind: 'device', say: 'started the operation [name] of {deviceId}' },
  devices_OperationCancelled: { kind: 'device', say: 'cancelled the operation [name] of {deviceId}' },
  devices_OperationEnded: {
    kind: 'device',
    say: ({ data: { status } }) =>
      `ended the operation [name] of {deviceId}${status === 'Succeeded' ? '' : status === 'TimedOut' ? ', which timed out' : ', which failed'}`,
  },
} as const satisfies EventSentences<'operations'>

/** Phrases for the logged actions on operations. */
export const operationActions = {
  devices_CreateOperation: { kind: 'device', say: 'create the operation [name] of {deviceId}' },
  devices_StartOperation: { kind: 'device', say: 'start an operation' },
  devices_CancelOperation: { kind: 'device', say: 'cancel an operation' },
  devices_ClaimOperationWork: { kind: 'device', say: 'claim work of an operation for {deviceId}' },
  devices_ReportOperationStep: { kind: 'device', say: 'report a step of an operation of {deviceId}' },
} as const satisfies ActionPhrases<'operations'>
