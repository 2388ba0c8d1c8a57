import type { Scope } from '../access/scope.ts'
import type { Db } from '../database/client/connection.ts'
import type { DatabaseShare, InPortions } from '../limits/database-shares.ts'
import type { Caller, DeviceCaller } from './caller.ts'
import type { CommandTransaction } from './command-transaction.ts'
import type { Services } from './services.ts'

type CommonContext = {
  caller: Caller
  /** Ids of the organization, project and other owners of the action's resource, with the caller's role. */
  scope: Scope
  services: Services
  /** Input text as sent by the caller. It keeps numbers that `JSON.parse` would round. */
  inputText: string
}

/** Context of a query. It has no transaction, so a query that writes does not compile. */
export type QueryContext = CommonContext & {
  db: Db
  inPortions: InPortions
  /** Aborts when the request is closed before its answer, if the query has a `cost` (may be slow). Never aborts for other queries. */
  signal: AbortSignal
}

/** Context of a preference, a kind of action that writes with a single statement. */
export type PreferenceContext = CommonContext & { db: Db }

/** Work of a command after its answer, in a transaction of its own. */
export type AfterAnswer = (transaction: CommandTransaction) => Promise<void>

/** Context of a command. The database work of its handler runs in one transaction. */
export type CommandContext = CommonContext &
  CommandTransaction & {
    /**
     * Id of the command's audit row. Work that goes on after the command, such as a bulk action, refers to this row in its audit events.
     */
    actionId: string
    /**
     * Does work after the answer was written, if the transaction commits: neither the answer nor its time shows what the work finds. Its
     * events belong to the command. A failure is logged; if the process is killed meanwhile, the work is lost.
     */
    afterAnswer(work: AfterAnswer): void
    /**
     * Records that the caller opened a link mailed to the owner of an account. After the commit, the account's count of failed
     * sign-ins is cleared and the caller's browser counts as known to the account.
     */
    ownerProved(userId: string): void
  }

/** Context of telemetry that the device itself reports. For other callers, the same action runs as a command. */
export type TelemetryContext = CommonContext & {
  db: Db
  /** Runs a transaction within the share of the device. */
  transaction: DatabaseShare['transaction']
  caller: DeviceCaller
}
