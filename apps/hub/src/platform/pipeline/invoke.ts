import { setImmediate } from 'node:timers/promises'
import {
  type Action,
  ActionError,
  type ActionInput,
  type ActionName,
  type ActionOutput,
  actions,
  findAction,
  type InputIssue,
  MAX_JSON_DEPTH,
  RECENT_SIGN_IN_SECS,
} from '@muster/actions'
import { jsonDepth, stringify } from '@muster/actions/exact-json'
import { Batcher, InFlight } from '@muster/concurrency'
import type { z } from 'zod'
import { needsSession } from '../access/asking-session.ts'
import { type Authorization, authorize, RefusedMember } from '../access/authorize.ts'
import type { OwnedResource, Scope } from '../access/scope.ts'
import {
  auditStatus,
  closeAuditAction,
  type Ending,
  type FinalStatus,
  openAuditAction,
  recordAuditAction,
} from '../audit/actions.ts'
import type { Origin } from '../audit/facts.ts'
import { BATCHED_WRITES } from '../database/client/batched-writes.ts'
import { type Db, select } from '../database/client/connection.ts'
import { retryWhileUnavailable } from '../database/client/retry-while-unavailable.ts'
import type { DatabaseShare, DatabaseShares } from '../limits/database-shares.ts'
import { LimitReached } from '../limits/limit-reached.ts'
import type { RateLimits } from '../limits/rate-limits.ts'
import { RefusedCommands } from '../limits/refused-commands.ts'
import { RefusedInputs } from '../limits/refused-inputs.ts'
import type { LiveHub } from '../live/live-hub.ts'
import type { Logger } from '../runtime/log.ts'
import { type Caller, personOf } from './caller.ts'
import type { AfterAnswer, CommandContext } from './command-context.ts'
import { commandTransaction, logGrew, withinShare } from './command-transaction.ts'
import { expectedError } from './expected-error.ts'
import type { Handlers } from './handler.ts'
import { outputText } from './output-text.ts'
import type { Services } from './services.ts'

type PipelineOptions = {
  db: Db
  shares: DatabaseShares
  handlers: Handlers
  services: Services
  live: LiveHub
  limits: RateLimits
  log: Logger
}

type Input = Record<string, unknown>
type Write = (context: CommandContext, input: Input) => Promise<unknown>
type Prepared = { prepare: (context: unknown, input: Input) => Promise<Write> }
type CommandRun = Write | Prepared
/** A command with its input, its audit row and its share of the database. */
type CommandCall = {
  share: DatabaseShare
  action: Action
  entry: Parameters<typeof openAuditAction>[1]
  input: Input
  inputText: string
  onOwnerProved: (userId: string) => void
  signal: AbortSignal
}

/**
 * Number of pieces of work after answers that may wait at once. Beyond it, as in a flood of calls, a command does its work before its answer, so
 * that the callers wait and not the hub's memory.
 */
const MAX_AFTER_ANSWERS = 100

const NEVER_ABORTED = new AbortController().signal

type CallOptions = Origin & {
  /** Called with the id of an account when the caller has opened a link that was mailed to the account's owner. */
  onOwnerProved?: (userId: string) => void
  /**
   * Aborts when the caller no longer waits for the answer. Cancels only waits for a share of the caller, and the statements of long reads;
   * all other work of an action is completed.
   */
  signal?: AbortSignal | undefined
  /** Owners of the resource that the input of a query names, if they were found together with the caller. */
  owned?: OwnedResource | undefined
}

/** Runs actions. All transports use it: HTTP, links, and the hub's own code. */
export type Pipeline = {
  /**
   * Runs an action. Takes the JSON text of its input and resolves to the JSON text of its output. Rejects with `ActionError`
   * only.
   */
  invoke(
    caller: Caller,
    name: string,
    inputText: string,
    requestId: string,
    options?: CallOptions,
  ): Promise<string>
  /** Runs an action like `invoke`, with values instead of JSON text. For the hub itself and for tests. */
  run<N extends ActionName>(caller: Caller, name: N, input: ActionInput<N>): Promise<ActionOutput<N>>
  /** Reports and logs the error of an action as `invoke` does. Returns the error that the caller gets. */
  failureOf(error: unknown, name: string, requestId: string): ActionError
  /** Resolves when the work that commands left for after their answers is done, or after the timeout. */
  settled(timeoutMs: number): Promise<void>
}

/**
 * Creates the pipeline. Steps of a command: find the action, parse the input, apply rate limits, open the audit row, authorize,
 * run the handler, commit, run the effects, such as notices to consoles. Nothing leaves the process before the commit.
 */
export function createPipeline({
  db,
  shares,
  handlers,
  services,
  live,
  limits,
  log,
}: PipelineOptions): Pipeline {
  /**
   * Audit rows that could not be closed because the database was unavailable. Closing is retried; otherwise the rows would stay
   * `Pending` until the next start.
   */
  const unclosedAuditRows = new Batcher<{ actionId: string; status: FinalStatus; ending: Ending }>({
    ...BATCHED_WRITES,
    parallel: 1,
    maxBatch: 100,
    maxWaiting: 100_000,
    retryForMs: Number.POSITIVE_INFINITY,
    weigh: () => 1,
    async write(rows) {
      for (const { actionId, status, ending } of rows) await closeAuditAction(db, actionId, status, ending)
    },
  })

  const afterAnswers = new InFlight()
  let countAfterAnswers = 0
  const refusedCommands = new RefusedCommands(services.limits, limits)
  const refusedInputs = new RefusedInputs(limits)

  async function invoke(
    caller: Caller,
    name: string,
    inputText: string,
    requestId: string,
    { address, browser, onOwnerProved = () => {}, signal = NEVER_ABORTED, owned }: CallOptions = {},
  ): Promise<string> {
    const found = findAction(name)
    if (!found) throw new ActionError('Invalid', `unknown action: ${name.slice(0, 100)}`, { status: 404 })
    let input: Input
    try {
      input = parseInput(found.action, inputText)
    } catch (error) {
      await refusedInputs.hold(caller, address, inputText, signal)
      throw error
    }
    // Rate limits apply before the audit row is written, so that a flood does not fill the audit log.
    const { kind, permission, rateLimit } = found.action
    if (rateLimit && caller.actor !== 'System')
      await limits.takeAction(found.name, rateLimit, caller, address)
    const anonymousAddress =
      caller.actor === 'Anonymous' && kind !== 'query' && permission !== 'anyone' ? address : undefined
    if (anonymousAddress !== undefined) await limits.take('no credentials', anonymousAddress)
    try {
      const person = personOf(caller)
      if (found.action.isCreation && person)
        await limits.takeCreation(person.userId, services.limits['person-creations'])
      const output = await dispatch(
        found.name,
        found.action,
        caller,
        input,
        inputText,
        requestId,
        { address, browser },
        onOwnerProved,
        signal,
        owned,
      )
      if (anonymousAddress !== undefined) await limits.giveBack('no credentials', anonymousAddress)
      return output
    } catch (error) {
      throw failureOf(error, found.name, requestId)
    }
  }

  function failureOf(error: unknown, name: string, requestId: string): ActionError {
    if (error instanceof LimitReached) services.limitReports.add(error.limit, error.subject, error.message)
    services.diskSpace.note(error)
    const expected = expectedError(error)
    if (expected) return expected
    log.error({ err: error, action: name, requestId }, 'action panicked')
    return new ActionError('Internal', PANICKED, { requestId, cause: error })
  }

  async function dispatch(
    name: ActionName,
    action: Action,
    caller: Caller,
    input: Input,
    inputText: string,
    requestId: string,
    origin: Origin,
    onOwnerProved: (userId: string) => void,
    signal: AbortSignal,
    owned: OwnedResource | undefined,
  ): Promise<string> {
    const entry = {
      action: name,
      caller,
      data: pick(input, action.audit),
      nodeId: services.nodeId,
      requestId,
      origin,
    }
    const share = shares.of(caller, origin.address, name)
    const call: CommandCall = { share, action, entry, input, inputText, onOwnerProved, signal }
    // The output of a command is checked in its transaction.
    if (action.kind === 'command') return stringify(await runCommand(handlers[name] as CommandRun, call))
    if (action.kind === 'telemetry') {
      const run = handlers[name] as {
        byDevice: (context: unknown, input: Input) => Promise<unknown>
        byOthers: CommandRun
      }
      if (caller.actor !== 'Device') return stringify(await runCommand(run.byOthers, call))
      const { scope } = await authorize(db, caller, action.permission, input)
      const { transaction } = share
      const output = await run.byDevice(
        { caller, scope, services, inputText, db: share.db, transaction },
        input,
      )
      return outputText(action.output, output, share.inPortions)
    }
    const { scope, asInstanceAdmin } = await authorize(db, caller, action.permission, input, owned)
    const run = handlers[name] as (context: unknown, input: Input) => Promise<unknown>
    // A whole list is also written within the share of its caller.
    const answer = async (): Promise<string> =>
      outputText(
        action.output,
        await run(
          { caller, scope, services, inputText, db: share.db, inPortions: share.inPortions, signal },
          input,
        ),
        share.inPortions,
      )
    if (action.kind === 'preference') return share.repeatLocked(answer)
    // A query that waits for a lock is no long or brief query meanwhile.
    const output = await share.repeatLocked(() => {
      if (action.cost === 'brief') return share.brief(signal, answer)
      if (isScan(action, input, caller)) return share.long(signal, answer)
      return PAGES.has(name) ? share.page(signal, answer) : answer()
    }, signal)
    if (asInstanceAdmin) {
      const ids = Object.fromEntries(Object.entries(input).filter(([key]) => key.endsWith('Id')))
      await share.repeatLocked(() => recordAuditAction(share.db, { ...entry, data: ids }, 'Succeeded'))
    }
    return output
  }

  async function runCommand(
    run: CommandRun,
    { share, action, entry, input, inputText, onOwnerProved, signal }: CommandCall,
  ): Promise<unknown> {
    const { caller, requestId, origin } = entry
    let authorization: Authorization | undefined
    const admit = async (): Promise<Authorization> => {
      authorization = await authorize(db, caller, action.permission, input)
      requireSession(action, caller)
      await requireRecentSignIn(action, caller, input)
      return authorization
    }
    const counted = await refusedCommands.count(caller, origin?.address)
    // Beyond a limit of refused commands, only permitted commands get a row.
    const admitted = counted.reached
      ? await admit().catch(error => {
          // An error with issues tells a permitted person what to enter, such as their password.
          throw error instanceof ActionError && !error.issues ? counted.reached : error
        })
      : undefined
    const actionId = await share.repeatLocked(() => openAuditAction(share.db, entry))
    try {
      authorization = admitted ?? (await admit())
      await counted.passed()
    } catch (error) {
      // `Rejected` means a missing permission, so a permission check that failed for another reason gets another status.
      const status = error instanceof ActionError ? 'Rejected' : expectedError(error) ? 'Failed' : 'Panicked'
      const ending = { reason: reasonOf(error), scope: scopeOfRefusal(error, authorization) }
      await close(share.db, actionId, status, ending)
      throw error
    }
    const { scope } = authorization
    const logged = scopeOfFailure(action, authorization)
    const cause = { caller, scope, origin, actionId }
    const parts = withinShare({ db, live, jobs: services.jobs, log }, share)
    /** Does each work in a transaction of its own, after the transport has written the answer. */
    const doAfterAnswer = async (works: readonly AfterAnswer[]): Promise<void> => {
      for (const work of works) {
        const attempt = (): Promise<void> => commandTransaction(work, cause, parts)
        countAfterAnswers++
        const done = afterAnswers.track(
          setImmediate()
            .then(() => retryWhileUnavailable(attempt, () => false))
            .catch(error => log.error({ err: error, requestId }, 'work after an answer failed'))
            .finally(() => countAfterAnswers--),
        )
        if (countAfterAnswers > MAX_AFTER_ANSWERS) await done
      }
    }
    try {
      const prepare = async ({ prepare }: Prepared): Promise<Write> => {
        const context = { caller, scope, services, inputText, db: share.db, inPortions: share.inPortions }
        const prepared = (): Promise<Write> => prepare({ ...context, signal }, input)
        const isLong = isScan(action, input, caller)
        return share.repeatLocked(() => (isLong ? share.long(signal, prepared) : prepared()), signal)
      }
      const write = typeof run === 'function' ? run : await prepare(run)
      // The caller may have lost the permission while `prepare` ran, so the permission is checked again.
      if (typeof run !== 'function') await authorize(db, caller, action.permission, input)
      let later: AfterAnswer[] = []
      let status: FinalStatus = 'Succeeded'
      const output = await commandTransaction(
        async transaction => {
          later = []
          const context: CommandContext = {
            ...transaction,
            caller,
            scope,
            services,
            inputText,
            actionId,
            ownerProved: userId =>
              transaction.afterCommit(async () => {
                await limits.clear('sign-in account', userId)
                onOwnerProved(userId)
              }),
            afterAnswer: work => later.push(work),
          }
          const output = action.output.parse(await write(context, input))
          const result = failedResult(action, output)
          status = result === undefined ? 'Succeeded' : 'Failed'
          const ending = { result, reason: result, scope: logged }
          if (!(await closeAuditAction(transaction.tx, actionId, status, ending))) throw evictedError()
          return output
        },
        cause,
        parts,
        () => hasCommitted(actionId, status),
      )
      await doAfterAnswer(later)
      return output
    } catch (error) {
      await close(share.db, actionId, expectedError(error) ? 'Failed' : 'Panicked', {
        reason: reasonOf(error),
        scope: logged,
      })
      throw error
    }
  }

  /**
   * Requires a session with a recent sign-in or with the current password if the action needs that (docs/decisions.md, "Passwords and
   * tokens"). Throws `Forbidden`, for a session with an issue for the field `currentPassword`.
   */
  async function requireRecentSignIn(action: Action, caller: Caller, input: Input): Promise<void> {
    const person = personOf(caller)
    if (!person || !action.recentSignIn?.isNeeded(input as never, person)) return
    if (person.actor === 'UserToken') throw needsSession()
    const { currentPassword } = input
    if (typeof currentPassword === 'string') {
      await limits.take('current password', person.userId)
      const [user] = await select<{ password_hash: string | null }>(
        db,
        'select password_hash from "user" where user_id = $1',
        [person.userId],
      )
      if (!(await services.passwords.verify(currentPassword, user?.password_hash)))
        throw needsPassword('The current password is wrong.')
      await limits.giveBack('current password', person.userId)
    } else if (Date.now() - person.signedInAt.getTime() > RECENT_SIGN_IN_SECS * 1000) {
      throw needsPassword('Your sign-in is too old for this: it needs the current password.')
    }
  }

  /**
   * Finds out whether a transaction whose commit reply was lost was committed. If so, its audit row has the status that the
   * transaction wrote. If not, the audit row is still `Pending` and is closed as `Failed`.
   */
  async function hasCommitted(actionId: string, status: FinalStatus): Promise<boolean> {
    try {
      // The update in `closeAuditAction` waits for the row lock of a commit in flight, so the status that is read here is final.
      return await retryWhileUnavailable(
        async () =>
          !(await closeAuditAction(db, actionId, 'Failed')) && (await auditStatus(db, actionId)) === status,
        () => false,
      )
    } catch {
      return false
    }
  }

  /**
   * Closes an audit row after the rollback. While the database is unavailable, or a lock is held, closing is retried in the background.
   */
  async function close(ofCaller: Db, actionId: string, status: FinalStatus, ending: Ending): Promise<void> {
    await closeAuditAction(ofCaller, actionId, status, ending).catch(() => {
      // If this process ends first, `sweepOrphanedActions` closes the row as `Panicked`.
      unclosedAuditRows
        .add({ actionId, status, ending })
        .catch(error => log.error({ err: error, actionId }, 'audit row left open'))
    })
    if (ending.scope) logGrew(live, ending.scope)
  }

  return {
    invoke,
    failureOf,
    settled: timeoutMs => afterAnswers.settled(timeoutMs),
    async run(caller, name, input) {
      const requestId = `internal-${crypto.randomUUID()}`
      return JSON.parse(await invoke(caller, name, JSON.stringify(input), requestId)) as ActionOutput<
        typeof name
      >
    },
  }
}

/** Message of an error that is a bug of the hub. */
const PANICKED = 'Something went wrong on the hub.'

/**
 * Reason of a failure for the audit log: the message that the caller got. A refused member of the organization gets only a general
 * message, and the log has the precise reason.
 */
function reasonOf(error: unknown): string {
  return error instanceof RefusedMember ? error.reason : (expectedError(error)?.message ?? PANICKED)
}

/**
 * Resource whose logs list a refused action. If the caller has no role in the organization, only the log of the instance lists the action,
 * so that outsiders cannot fill the organization's log.
 */
function scopeOfRefusal(error: unknown, authorization: Authorization | undefined): Scope | undefined {
  const scope = error instanceof RefusedMember ? error.scope : authorization?.scope
  return scope?.rights && scope
}

/**
 * Resource whose logs list a failed action. Anybody may read a public repository, so only the log of the instance lists the failure of a
 * reader without a role in the organization.
 */
function scopeOfFailure({ permission }: Action, { scope }: Authorization): Scope | undefined {
  const isRead = typeof permission === 'object' && permission.can === 'read'
  return isRead && !scope.rights ? undefined : scope
}

/** Parses and validates an input. Throws `Invalid` with every issue and its path. An empty string counts as `{}` (docs/api.md 1.1). */
function parseInput(action: Action, text: string): Input {
  if (jsonDepth(text) > MAX_JSON_DEPTH) {
    throw new ActionError('Invalid', `The input is nested deeper than ${MAX_JSON_DEPTH} levels.`)
  }
  let value: unknown
  try {
    value = text.trim() === '' ? {} : JSON.parse(text)
  } catch (cause) {
    throw new ActionError('Invalid', 'The input is not valid JSON.', { cause })
  }
  const parsed = action.input.safeParse(value)
  if (parsed.success) return parsed.data as Input
  const issues = parsed.error.issues.map(issueOf)
  const shown = issues
    .slice(0, 5)
    .map(issue => (issue.path ? `${issue.path}: ${issue.message}` : issue.message))
  throw new ActionError('Invalid', `The input is not valid: ${shown.join('; ')}.`, { issues })
}

/** Requires a signed-in person if the action needs a session (docs/decisions.md, "Bulk actions"). Throws `Forbidden`. */
function requireSession(action: Action, { actor }: Caller): void {
  if (action.needsSession && actor !== 'User') throw needsSession()
}

/** Makes the error for a missing or wrong current password. Its issue names the field that clients have to ask for. */
function needsPassword(message: string): ActionError {
  return new ActionError('Forbidden', message, { issues: [{ path: 'currentPassword', message }] })
}

function issueOf(issue: z.core.$ZodIssue): InputIssue {
  return { path: issue.path.join('.'), message: issue.message }
}

/** Result in an output which means that the command did not do its work, such as `InvalidToken`; undefined otherwise. */
function failedResult({ failedResults }: Action, output: unknown): string | undefined {
  const { result } = output as { result?: string }
  return result !== undefined && failedResults.includes(result) ? result : undefined
}

/**
 * Error for a command of a node that another node has marked as dead. The other node has already recorded the command as failed in its
 * audit row, so the transaction is rolled back.
 */
function evictedError(): ActionError {
  return new ActionError('Internal', 'The hub took too long and was taken for dead; nothing was changed.', {
    status: 503,
  })
}

/** Names of the queries that answer with a page of a list, whose length no other limit bounds, or that join queries. */
const PAGES: ReadonlySet<string> = new Set(
  Object.entries(actions)
    .filter(([, { cost, input }]: [string, Action]) => {
      const { shape = {} } = input as { shape?: object }
      if ('cursor' in shape) return cost !== 'bounded'
      return Object.keys(shape).some(name => name in actions)
    })
    .map(([name]) => name),
)

/**
 * True for a call that may read many rows, by the contract of its action. Such calls share the limiter of long queries. A list without
 * `limit`, which has no bound but the number of its rows, counts as well, unless a limit bounds it, and except for devices: their lists are those of one device or
 * repository, and a whole fleet may ask for them at once after a restart.
 */
function isScan(
  { kind, cost, scanningSort, input: { shape = {} } }: Action & { input: { shape?: object } },
  { filter, sort, selection, limit, columns }: Input,
  { actor }: Caller,
): boolean {
  if (typeof sort === 'string' && scanningSort?.test(sort)) return true
  if (cost === 'scan') return true
  if (cost === 'bounded') return false
  if (actor !== 'Device' && kind === 'query' && 'cursor' in shape && limit === undefined) return true
  if (cost !== 'scan if filtered') return false
  if (Array.isArray(columns) && columns.length > 0) return true
  const selected = selection as { kind?: string; filter?: object } | undefined
  if (selected?.kind === 'view') return true
  const conditions = filter ?? selected?.filter
  return Object.values(conditions ?? {}).some(condition => condition !== undefined)
}

function pick(input: Input, fields: readonly string[]): Input {
  return Object.fromEntries(
    fields.filter(field => input[field] !== undefined).map(field => [field, input[field]]),
  )
}
