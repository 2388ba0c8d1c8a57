import type { ActionName, Actions, HandlerOutput, LiveChange, LiveTopic, ParsedInput } from '@muster/actions'
import type pg from 'pg'
import type { Scope } from './access/scope.ts'
import type { AuditEvents, EventOptions } from './audit/events.ts'
import type { Caller, DeviceCaller } from './caller.ts'
import type { Jwts } from './credentials/jwts.ts'
import type { Db, Tx } from './database/client/connection.ts'
import type { DiskSpace } from './database/server/disk-space.ts'
import type { JobData, JobName, Jobs } from './jobs/jobs.ts'
import type { LimitReports } from './limits/limit-reports.ts'
import type { LimitValues } from './limits/limits.ts'
import type { PropertyTotals } from './limits/property-totals.ts'
import type { StoredBytes } from './limits/stored-bytes.ts'
import type { WriteBudgets } from './limits/write-budgets.ts'
import type { LinkSlots } from './links/link-slots.ts'
import type { DeviceRegistry } from './links/registry.ts'
import type { ProxyHosts } from './proxy/hosts.ts'
import type { ProxyTokens } from './proxy/proxy-tokens.ts'
import type { Blobs } from './storage/blobs.ts'
import type { Ingest } from './telemetry/ingest.ts'

/** What handlers use beyond the database. */
export type Services = {
  ingest: Ingest
  devices: DeviceRegistry
  /** Descriptors that connections of devices hold on this node. */
  links: LinkSlots
  jobs: Jobs
  jwts: Jwts
  /** What links to the web pages of devices are made of. */
  proxy: { hosts: ProxyHosts; tokens: ProxyTokens; publicUrl: string }
  /** Bytes of repositories. */
  blobs: Blobs
  /** Who may sign up by themselves. */
  signup: 'open' | 'invite' | 'closed'
  /** Limits in force. */
  limits: LimitValues
  limitReports: LimitReports
  writeBudgets: WriteBudgets
  propertyTotals: PropertyTotals
  storedBytes: StoredBytes
  diskSpace: DiskSpace
  dataDir: string
  nodeId: string
}

type CommonContext = {
  caller: Caller
  /** Owner of the resource that the permission names. */
  scope: Scope
  services: Services
  /** The input exactly as it was sent. */
  inputText: string
}

/** Queries get no transaction: what tries to write does not compile. */
type QueryContext = CommonContext & { db: Db; pool: pg.Pool }

export type CommandContext = CommonContext & {
  tx: Tx
  events: {
    emit<E extends keyof AuditEvents>(event: E, data: AuditEvents[E], options?: EventOptions): Promise<void>
  }
  /** Tells open consoles after the commit that something in the action's scope changed; `userIds` besides its members so far. */
  changed(topic: LiveTopic, ids?: Partial<Omit<LiveChange, 'topic'>>, userIds?: readonly string[]): void
  /** Queues a job that runs only if the transaction commits. */
  enqueue<N extends JobName>(job: N, data: JobData[N]): Promise<string>
  /**
   * Notes that the caller opened a link mailed to the owner of an account. After the commit the account's failed sign-ins are
   * forgotten and the caller's browser is known to the account.
   */
  ownerProved(userId: string): void
  /** Runs after the commit; what it throws is logged and changes nothing. */
  afterCommit(effect: () => void | Promise<void>): void
}

/** Telemetry has two ways: the device itself, batched; anybody else, as a command. */
type TelemetryContext = CommonContext & { db: Db; caller: DeviceCaller }

type Run<Context, N extends ActionName, Result = HandlerOutput<N>> = (
  context: Context,
  input: ParsedInput<N>,
) => Promise<Result>

/**
 * A command with work that takes long: it is done after the permission check and before the transaction, which gets what is left to
 * do as a function.
 */
type Prepared<N extends ActionName> = {
  prepare: Run<QueryContext, N, (context: CommandContext) => Promise<HandlerOutput<N>>>
}

export type Handler<N extends ActionName> = Actions[N]['kind'] extends 'query'
  ? Run<QueryContext, N>
  : Actions[N]['kind'] extends 'command'
    ? Run<CommandContext, N> | Prepared<N>
    : { byDevice: Run<TelemetryContext, N>; byOthers: Run<CommandContext, N> }

/** One handler for every action: a missing, misspelt or swapped one does not compile. */
export type Handlers = { [N in ActionName]: Handler<N> }

/** Binds a handler to the name of its action, from which its types come. */
export function handler<N extends ActionName>(_name: N, run: Handler<N>): Handler<N> {
  return run
}
