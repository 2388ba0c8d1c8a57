import type { EndedRights } from '../bus/ended-rights.ts'
import type { FirstPassword } from '../credentials/first-password.ts'
import type { Jwts } from '../credentials/jwts.ts'
import type { Passwords } from '../credentials/passwords.ts'
import type { Db } from '../database/client/connection.ts'
import type { DiskSpace } from '../database/server/disk-space.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { LimitReports } from '../limits/limit-reports.ts'
import type { LimitValues } from '../limits/limits.ts'
import type { PropertyTotals } from '../limits/property-totals.ts'
import type { Shares } from '../limits/shares.ts'
import type { StoredBytes } from '../limits/stored-bytes.ts'
import type { WriteBudgets } from '../limits/write-budgets.ts'
import type { LiveHub } from '../live/live-hub.ts'
import type { Logger } from '../runtime/log.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Blobs } from '../storage/blobs.ts'
import type { GuardedHttpClient } from '../storage/guarded-http-client.ts'
import type { SecretBox } from '../storage/secret-box.ts'

/** Services that features make for handlers and jobs. Each feature adds its own (`declare module`). */
// biome-ignore lint/suspicious/noEmptyInterface: features add their members
export interface FeatureServices {}

/** The parts of the hub that handlers use besides the database. `link` adds its own where it declares them. */
export interface Services extends FeatureServices {
  /** Ends open connections, here and on other nodes, when a right ends. */
  rights: EndedRights
  /** Counts the connections and file descriptors that callers hold on this node. */
  shares: Shares
  jobs: Jobs
  jwts: Jwts
  passwords: Passwords
  firstPassword: FirstPassword
  /** Files of repositories. */
  blobs: Blobs
  /** Encrypts secrets that are stored. */
  secretBox: SecretBox
  /** HTTP clients for addresses that people enter, by purpose. Each has its own networks that the operator allows. */
  outbound: Record<'webhooks' | 'otlp', GuardedHttpClient>
  /** Sign-up policy: open to everybody, by invitation only, or closed. */
  signup: 'open' | 'invite' | 'closed'
  /** Values of the limits: the defaults, or the values of settings. */
  limits: LimitValues
  /** Days for which events and audit rows are kept; without `auditDays` audit rows are kept for ever. */
  retention: { eventDays: number; auditDays: number | undefined }
  limitReports: LimitReports
  writeBudgets: WriteBudgets
  propertyTotals: PropertyTotals
  storedBytes: StoredBytes
  diskSpace: DiskSpace
  dataDir: string
  nodeId: string
}

/** Functions that make the services of features, by their names. */
export type ServiceMakers = {
  [Name in keyof FeatureServices]: (parts: ServiceParts) => FeatureServices[Name]
}

/** Makes the services of features. */
export function makeServices(makers: ServiceMakers, parts: ServiceParts): FeatureServices {
  const made = Object.entries(makers).map(([name, make]) => [name, make(parts)])
  return Object.fromEntries(made) as FeatureServices
}

/** The parts of the hub out of which features make their services. */
export type ServiceParts = Omit<Services, keyof FeatureServices> & {
  db: Db
  sessions: Sessions
  live: LiveHub
  log: Logger
}
