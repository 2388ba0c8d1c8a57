import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of the instance. */
export const instanceEvents = {
  jobs_Retried: { kind: 'job', say: 'queued the job <jobId> again, <job>' },
  cluster_RebalanceStarted: { kind: 'node', say: 'asked the fullest nodes to release [deviceCount] devices' },
  cluster_RebalanceCancelled: { kind: 'node', say: 'cancelled the rebalancing of the nodes' },
  instance_BackedUp: {
    kind: 'instance',
    say: ({ data }) => (data.isVerified ? 'backed up the instance' : 'backed up the instance, not verified'),
  },
  instance_Restored: { kind: 'instance', say: 'restored the instance from the backup of [backedUpAt]' },
  instance_DatabaseMoved: { kind: 'instance', say: 'moved the database to <to>' },
  limits_Reached: { kind: 'limit', say: 'reported a limit that was reached: [message]' },
} as const satisfies EventSentences<'instance'>

/** Phrases for the logged actions on the instance. */
export const instanceActions = {
  cluster_StartRebalance: { kind: 'node', say: 'rebalance the nodes' },
  cluster_CancelRebalance: { kind: 'node', say: 'cancel the rebalancing of the nodes' },
  jobs_Retry: { kind: 'job', say: 'retry the job <jobId>' },
} as const satisfies ActionPhrases<'instance'>
