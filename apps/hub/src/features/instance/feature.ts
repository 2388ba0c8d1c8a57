import type { LimitSubject } from '@muster/actions'
import { event } from '../../platform/audit/events.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import * as jobs from './jobs/index.ts'
import { createPartitions } from './jobs/MaintainPartitions.ts'
import { instanceMetrics } from './metrics.ts'
import { removeOldRecords } from './retention.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `jobs_Retry`. */
  jobs_Retried: event<{ jobId: string; job: string }>({ ids: ['jobId'] }),
  /** Written by `cluster_StartRebalance`, `muster-hub rebalance`, and nodes with `MUSTER_REBALANCE=auto`. */
  cluster_RebalanceStarted: event<{ nodeIds: string[]; deviceCount: number }>({ ids: [] }),
  /** Written by `cluster_CancelRebalance` and `muster-hub rebalance --cancel`. */
  cluster_RebalanceCancelled: event<{ nodeIds: string[] }>({ ids: [] }),
  /** Written by `muster-hub backup`. */
  instance_BackedUp: event<{ sizeBytes: number; isVerified: boolean; hasBlobs: boolean; hasKey: boolean }>({
    ids: [],
  }),
  /** Written by `muster-hub restore`. `backedUpAt` is the time of the backup. */
  instance_Restored: event<{
    backedUpAt: string
    sessionCount: number
    jobIds: string[]
    bulkActionIds: string[]
    webhookIds: string[]
    deviceOperationIds: string[]
  }>({ ids: [] }),
  /** Written by `muster-hub database move`. `to` is the new address without a password. */
  instance_DatabaseMoved: event<{ to: string }>({ ids: [] }),
  /** Written by the hub when a limit is hit, at most once in 10 minutes for each limit and subject, with the ids of the subject. */
  limits_Reached: event<LimitSubject & { limit: string; count: number; message: string }>({
    ids: ['organizationId', 'projectId', 'deviceId', 'tokenId', 'userId'],
  }),
}

/** The instance itself: nodes, jobs, health and upkeep. */
export const instance = defineFeature({
  actions,
  events,
  jobs,
  metrics: instanceMetrics,
  onStart: createPartitions,
  retention: [removeOldRecords],
})
