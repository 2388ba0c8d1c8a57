import { event } from '../../platform/audit/events.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import { BulkActions } from './bulk-actions.ts'
import * as jobs from './jobs/index.ts'
import { cancelUnfinished, removeOldBulkActions } from './upkeep.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by the action that starts a bulk action, with the number of devices or certificates to process. */
  devices_BulkActionStarted: event<{
    projectId: string
    bulkActionId: string
    kind: string
    itemCount: number
  }>({ ids: ['projectId', 'bulkActionId'] }),
  /** Written by `devices_CancelBulkAction`, with the number of devices or certificates that were done until then. */
  devices_BulkActionCancelled: event<{
    projectId: string
    bulkActionId: string
    kind: string
    doneCount: number
  }>({ ids: ['projectId', 'bulkActionId'] }),
  /** Written by the job of a bulk action when the rights or the session of its person have ended. */
  devices_BulkActionStopped: event<{
    projectId: string
    bulkActionId: string
    kind: string
    doneCount: number
  }>({ ids: ['projectId', 'bulkActionId'] }),
}

/** Bulk actions on devices and certificates. */
export const bulk = defineFeature({
  actions,
  events,
  jobs,
  services: { bulkActions: parts => new BulkActions(parts) },
  onStart: ({ bulkActions, log }) =>
    bulkActions.resume().catch(error => log.warn({ err: error }, 'unfinished bulk actions were not resumed')),
  retention: [removeOldBulkActions],
  onRestore: { bulkActionIds: cancelUnfinished },
})
