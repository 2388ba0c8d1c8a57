import { event } from '../../platform/audit/events.ts'
import type { Limit } from '../../platform/limits/limits.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import { Dispatcher } from './dispatcher.ts'
import { FeedWaits } from './feed-waits.ts'
import * as jobs from './jobs/index.ts'
import { createOutboxPartitions } from './jobs/MaintainOutbox.ts'
import { startWebhooks } from './start.ts'
import { holdAfterRestore } from './upkeep.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `events_SetFeed`. */
  events_FeedChanged: event<{ organizationId: string; isOn: boolean }>({ ids: ['organizationId'] }),
}

/** Limits of this feature. `npm run gen` writes them into docs/operating.md. */
const limits = {
  'person-feed-waits': {
    scope: 'person',
    unit: 'requests',
    default: 8,
    max: 10_000,
    meaning:
      'Requests of a person that wait for the next event of a feed on one node; all people together wait with 500. Further ones are refused.',
  },
} satisfies Record<string, Limit>

declare module '../../platform/limits/limits.ts' {
  interface FeatureLimits extends Record<keyof typeof limits, Limit> {}
}

declare module '../../platform/pipeline/services.ts' {
  interface FeatureServices {
    /** Numbers messages of the outbox after their commit. */
    dispatcher: Dispatcher
    /** Requests that wait for the next event of a feed. */
    feedWaits: FeedWaits
  }
}

/** Messages about what happens in an organization, for programs that are not part of the hub: the feed of events. */
export const webhooks = defineFeature({
  actions,
  events,
  jobs,
  limits,
  services: {
    dispatcher: parts => new Dispatcher(parts),
    feedWaits: parts => new FeedWaits(parts),
  },
  onStart: async context => {
    await createOutboxPartitions(context)
    return startWebhooks(context)
  },
  onRestore: { webhookIds: holdAfterRestore },
})
