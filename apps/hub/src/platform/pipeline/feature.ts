import type pg from 'pg'
import { type Owners, registerOwners } from '../access/owners.ts'
import { type EventDeclaration, registerEvents } from '../audit/events.ts'
import type { Cancellations } from '../backup/restore.ts'
import type { Db } from '../database/client/connection.ts'
import type { Route, RouteName } from '../http/server.ts'
import type { Job, JobContext, RemoveOld } from '../jobs/define-job.ts'
import type { JobName } from '../jobs/jobs.ts'
import { registerJobs } from '../jobs/kinds.ts'
import { type Limit, ownLimits, registerLimits } from '../limits/limits.ts'
import type { Finding } from '../operator/finding.ts'
import type { MetricReader } from '../operator/metrics.ts'
import type { Handlers } from './handler.ts'
import type { ServiceMakers } from './services.ts'

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
  /** Its limits, by their names. Each is also a setting. */
  limits?: Record<string, Limit>
  /** Its HTTP routes beside the actions, by method and path. */
  routes?: Readonly<Record<RouteName, Route>>
  /** Makes the reader of its metrics. `failed` counts a part that could not be read. */
  metrics?: (db: Db, failed: (part: string) => void) => MetricReader
  /** Makes its services for handlers and jobs, by their names, out of those of the platform and the link. */
  services?: Partial<ServiceMakers>
  /**
   * Work of a starting node, before its devices connect and its jobs run. An error ends the start. What it resolves to is disposed when the
   * node stops, before the hub waits for actions in flight.
   */
  onStart?: (context: JobContext) => Promise<AsyncDisposable | undefined> | Promise<void>
  /** Removes its rows that are no longer needed. The job `instance_CleanupExpired` runs this every hour. */
  retention?: readonly RemoveOld[]
  /** Cancels its unfinished work in a restored database, because the work may have gone on after the backup. */
  onRestore?: Partial<Cancellations>
  /** Checks of the database by `muster-hub doctor`. They change nothing, and the database may have an older schema. */
  checks?: readonly ((client: pg.ClientBase) => Promise<Finding[]>)[]
}

/** Declares a feature. Its file `feature.ts` is the only one of its folder that the wiring imports. */
export function defineFeature<F extends Feature>(feature: F): F {
  return feature
}

/** Parts of a feature whose names no other feature may have. */
const NAMED = ['actions', 'events', 'jobs', 'owners', 'limits', 'services', 'routes', 'onRestore'] as const

/** Makes features known to the platform, by the names of their folders. Throws, with both files, for a name that two of them declare. */
export function registerFeatures(features: Readonly<Record<string, Feature>>): readonly Feature[] {
  const declared = new Map(ownLimits.map(name => [`limits ${name}`, 'platform/limits/limits.ts']))
  for (const [name, feature] of Object.entries(features))
    for (const part of NAMED)
      for (const key of Object.keys(feature[part] ?? {})) {
        // Two paths that differ only in the names of their parameters are one route.
        const entry = `${part} ${part === 'routes' ? key.replace(/:\w+/g, ':') : key}`
        const other = declared.get(entry)
        const file = `${name}/feature.ts`
        if (other !== undefined) throw new Error(`${file}: ${part}: ${key} is declared in ${other} too`)
        declared.set(entry, file)
      }
  const all = Object.values(features)
  for (const feature of all) {
    registerEvents(feature.events ?? {})
    registerJobs(Object.values(feature.jobs ?? {}))
    registerOwners(feature.owners ?? {})
    registerLimits(feature.limits ?? {})
  }
  return all
}
