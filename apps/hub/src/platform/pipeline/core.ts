import type { EndedRights } from '../bus/ended-rights.ts'
import type { FirstPassword } from '../credentials/first-password.ts'
import type { Jwts } from '../credentials/jwts.ts'
import type { Passwords } from '../credentials/passwords.ts'
import type { Db } from '../database/client/connection.ts'
import type { Readiness } from '../database/server/readiness.ts'
import type { AnswerBudgets } from '../limits/answer-budgets.ts'
import type { DatabaseShares } from '../limits/database-shares.ts'
import type { InputBudgets } from '../limits/input-budgets.ts'
import type { RateLimits } from '../limits/rate-limits.ts'
import type { Shares } from '../limits/shares.ts'
import type { LiveHub } from '../live/live-hub.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { BlobUrls } from '../storage/blob-urls.ts'
import type { Blobs } from '../storage/blobs.ts'
import type { Pipeline } from './invoke.ts'

/** The parts of a running hub that the HTTP entry points use. `link` adds its own. */
export interface Core {
  db: Db
  pipeline: Pipeline
  sessions: Sessions
  jwts: Jwts
  passwords: Passwords
  firstPassword: FirstPassword
  live: LiveHub
  rights: EndedRights
  limits: RateLimits
  /** Counts the connections and file descriptors that callers hold on this node. */
  shares: Shares
  /** Decides what callers may hold of the connections to the database. */
  databaseShares: DatabaseShares
  /** Bounds the memory of large inputs that have arrived in part. */
  inputs: InputBudgets
  /** Bounds the memory of large answers that are not read yet. */
  answers: AnswerBudgets
  /** Stores the files of repositories. `blobUrls` signs the hub's own URLs of those files. */
  blobs: Blobs
  blobUrls: BlobUrls
  nodeId: string
  readiness: Readiness
}
