import { type Owners, registerOwners } from '../access/owners.ts'
import { type EventDeclaration, registerEvents } from '../audit/events.ts'
import type { Db } from '../database/client/connection.ts'
import type { AddRoutes } from '../http/server.ts'
import type { Job } from '../jobs/define-job.ts'
import type { JobName } from '../jobs/jobs.ts'
import { registerJobs } from '../jobs/kinds.ts'
import type { MetricReader } from '../operator/metrics.ts'
import type { Handlers } from './handler.ts'

/** What a feature gives to the hub. `npm run gen` collects the features of all folders into `features/index.ts`. */
export type Feature = {
  /** Handlers of its actions, by their wire names. */
  actions?: Partial<Handlers>
  /** Its audit events (`event`). */
  events?: Record<string, EventDeclaration>
  /** Its background jobs (`defineJob`), by their names. */
  jobs?: { [N in JobName]?: Job<N> }
  /** Finds the owners of its resources, for the permission check. */
  owners?: Partial<Owners>
  /** Its HTTP routes beside the actions. */
  routes?: readonly AddRoutes[]
  /** Makes the reader of its metrics. `failed` counts a part that could not be read. */
  metrics?: (db: Db, failed: (part: string) => void) => MetricReader
}

/** Declares a feature. Its file `feature.ts` is the only one of its folder that the wiring imports. */
export function defineFeature<F extends Feature>(feature: F): F {
  return feature
}

/** Makes the events, jobs and owners of features known to the platform. Throws for a name that is declared twice. */
export function registerFeatures(features: readonly Feature[]): void {
  for (const { events = {}, jobs = {}, owners = {} } of features) {
    registerEvents(events)
    registerJobs(Object.values(jobs))
    registerOwners(owners)
  }
}
