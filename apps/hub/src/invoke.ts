import {
  type Action,
  ActionError,
  type ActionInput,
  type ActionName,
  type ActionOutput,
  findAction,
  type InputIssue,
  MAX_JSON_DEPTH,
  RECENT_SIGN_IN_SECS,
} from '@muster/actions'
import { jsonDepth, stringify } from '@muster/actions/exact-json'
import { Batcher } from '@muster/concurrency'
import type pg from 'pg'
import type { z } from 'zod'
import { type Authorization, authorize } from './access/authorize.ts'
import {
  auditStatus,
  closeAuditAction,
  type FinalStatus,
  openAuditAction,
  recordAuditAction,
} from './audit/actions.ts'
import { recordEvent } from './audit/events.ts'
import { actorId, type Caller, personOf } from './caller.ts'
import type { CommandContext } from './command-context.ts'
import { verifyPassword } from './credentials/passwords.ts'
import { BATCHED_WRITES } from './database/client/batched-writes.ts'
import type { Db } from './database/client/connection.ts'
import { isConnectionError, isDeadlock, isUniqueViolation, sqlState } from './database/client/errors.ts'
import { retryWhileUnavailable } from './database/client/retry-while-unavailable.ts'
import { expectedError } from './expected-error.ts'
import type { Handlers } from './handler.ts'
import { LimitReached } from './limits/limit-reached.ts'
import { LongQueries } from './limits/long-queries.ts'
import type { RateLimits } from './limits/rate-limits.ts'
import type { LiveHub } from './live/live-hub.ts'
import type { Logger } from './runtime/log.ts'
import type { Services } from './services.ts'

type PipelineOptions = {
  db: Db
  pool: pg.Pool
  handlers: Handlers
  services: Services
  live: LiveHub
  limits: RateLimits
  log: Logger
}

type Input = Record<string, unknown>
type CommandRun = ((context: CommandContext, input: Input) => Promise<unknown>) | { prepare: Prepare }
type Prepare = (context: unknown, input: Input) => Promise<(context: CommandContext) => Promise<unknown>>

/** How often a command is tried again when the database broke a deadlock or a conflict. */
const MAX_ATTEMPTS = 3

/** The one way to run an action, whatever door it came through. */
export type Pipeline = {
  /** Runs an action on the JSON text of its input; resolves to the JSON text of its output, rejects with `ActionError` only. */
  invoke(
    caller: Caller,
    name: string,
    inputText: string,
    requestId: string,
    /** Where the call came from; nothing for the hub's own. */
    address?: string,
    /** Gets the account whose owner the caller proved to be by opening a mailed link. */
    onOwnerProved?: (userId: string) => void,
  ): Promise<string>
  /** The same for code of the hub and its tests, with values instead of text. */
  run<N extends ActionName>(caller: Caller, name: N, input: ActionInput<N>): Promise<ActionOutput<N>>
}

/**
 * Builds the pipeline: look up by own property, parse, rate limit, open the audit row, authorize, run, commit, after-commit effects.
 * Handlers contain none of this, and nothing leaves the process before the commit.
 */
export function createPipeline({
  db,
  pool,
  handlers,
  services,
  live,
  limits,
  log,
}: PipelineOptions): Pipeline {
  /** Audit rows that could not be closed because the database went away. It may be back at once, and the next start is far. */
  const leftOpen = new Batcher<{ actionId: string; status: FinalStatus }>({
    ...BATCHED_WRITES,
    parallel: 1,
    maxBatch: 100,
    maxWaiting: 100_000,
    retryForMs: Number.POSITIVE_INFINITY,
    weigh: () => 1,
    async write(rows) {
      for (const { actionId, status } of rows) await closeAuditAction(db, actionId, status)
    },
  })

  const longQueries = new LongQueries()

  async function invoke(
    caller: Caller,
    name: string,
    inputText: string,
    requestId: string,
    address?: string,
    onOwnerProved: (userId: string) => void = () => {},
  ): Promise<string> {
    const found = findAction(name)
    if (!found) throw new ActionError('Invalid', `unknown action: ${name.slice(0, 100)}`, { status: 404 })
    const input = parseInput(found.action, inputText)
    // Before anything is written: a flood must not fill the audit log.
    const { kind, permission, rateLimit } = found.action
    if (rateLimit && caller.actor !== 'System')
      await limits.takeAction(found.name, rateLimit, caller, address)
    const strangersAddress =
      caller.actor === 'Anonymous' && kind !== 'query' && permission !== 'anyone' ? address : undefined
    if (strangersAddress !== undefined) await limits.take('no credentials', strangersAddress)
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
        onOwnerProved,
      )
      if (strangersAddress !== undefined) await limits.giveBack('no credentials', strangersAddress)
      return stringify(found.action.output.parse(output))
    } catch (error) {
      if (error instanceof LimitReached) services.limitReports.add(error.limit, error.subject, error.message)
      services.diskSpace.note(error)
      throw asActionError(error, found.name, requestId)
    }
  }

  async function dispatch(
    name: ActionName,
    action: Action,
    caller: Caller,
    input: Input,
    inputText: string,
    requestId: string,
    onOwnerProved: (userId: string) => void,
  ): Promise<unknown> {
    const entry = {
      action: name,
      caller,
      data: pick(input, action.audit),
      nodeId: services.nodeId,
      requestId,
    }
    if (action.kind === 'command') {
      return runCommand(handlers[name] as CommandRun, action, entry, input, inputText, onOwnerProved)
    }
    if (action.kind === 'telemetry') {
      const run = handlers[name] as {
        byDevice: (context: unknown, input: Input) => Promise<unknown>
        byOthers: CommandRun
      }
      if (caller.actor !== 'Device')
        return runCommand(run.byOthers, action, entry, input, inputText, onOwnerProved)
      const { scope } = await authorize(db, caller, action.permission, input)
      return run.byDevice({ caller, scope, services, inputText, db }, input)
    }
    const { scope, asInstanceAdmin } = await authorize(db, caller, action.permission, input)
    const run = handlers[name] as (context: unknown, input: Input) => Promise<unknown>
    const answer = (): Promise<unknown> => run({ caller, scope, services, inputText, db, pool }, input)
    const output = isScan(action, input)
      ? await longQueries.run(actorId(caller) ?? caller.actor, answer)
      : await answer()
    if (asInstanceAdmin) {
      const ids = Object.fromEntries(Object.entries(input).filter(([key]) => key.endsWith('Id')))
      await recordAuditAction(db, { ...entry, data: ids }, 'Succeeded')
    }
    return output
  }

  async function runCommand(
    run: CommandRun,
    action: Action,
    entry: Parameters<typeof openAuditAction>[1],
    input: Input,
    inputText: string,
    onOwnerProved: (userId: string) => void,
  ): Promise<unknown> {
    const { caller, requestId } = entry
    const actionId = await openAuditAction(db, entry)
    let authorization: Authorization
    try {
      authorization = await authorize(db, caller, action.permission, input)
      await requireRecentSignIn(action, caller, input)
    } catch (error) {
      // A database that went away has permitted nothing, and refused nothing either.
      const status = error instanceof ActionError ? 'Rejected' : expectedError(error) ? 'Failed' : 'Panicked'
      await close(actionId, status)
      throw error
    }
    const { scope } = authorization
    try {
      const write =
        typeof run === 'function'
          ? run
          : await run.prepare({ caller, scope, services, inputText, db, pool }, input)
      // What takes long is not done for whoever lost the right to it meanwhile.
      if (typeof run !== 'function') await authorize(db, caller, action.permission, input)
      for (let attempt = 1; ; attempt++) {
        const effects: (() => void | Promise<void>)[] = []
        /** What the command answers once nothing but the commit is left to do, and the status of its audit row. */
        let done: { output: unknown; status: FinalStatus } | undefined
        try {
          const output = await db.transaction().execute(async tx => {
            const context: CommandContext = {
              caller,
              scope,
              services,
              inputText,
              tx,
              events: {
                emit: (event, data, options) =>
                  recordEvent(tx, { caller, scope, actionId, ...options }, event, data),
              },
              changed: (topic, ids, userIds) =>
                effects.push(() => live.changed({ topic, ...scopeIds(scope), ...ids }, userIds)),
              enqueue: (job, data) => {
                effects.push(() => services.jobs.wake(job))
                return services.jobs.enqueue(tx, job, data)
              },
              ownerProved: userId =>
                effects.push(async () => {
                  await limits.clear('sign-in account', userId)
                  onOwnerProved(userId)
                }),
              afterCommit: effect => effects.push(effect),
            }
            const output = action.output.parse(await write(context, input))
            const result = failedResult(action, output)
            const status = result === undefined ? 'Succeeded' : 'Failed'
            if (!(await closeAuditAction(tx, actionId, status, result))) throw takenForDead()
            done = { output, status }
            return output
          })
          await runEffects(effects, requestId)
          return output
        } catch (error) {
          if (attempt < MAX_ATTEMPTS && isConflict(error)) continue
          // A connection that breaks in the commit does not tell whether it came to be.
          if (!done || !isConnectionError(error) || !(await hasCommitted(actionId, done.status))) throw error
          await runEffects(effects, requestId)
          return done.output
        }
      }
    } catch (error) {
      await close(actionId, expectedError(error) ? 'Failed' : 'Panicked')
      throw error
    }
  }

  /** Some actions need a sign-in that is recent, or the current password (decisions); throws `Forbidden` with what is missing. */
  async function requireRecentSignIn(action: Action, caller: Caller, input: Input): Promise<void> {
    const person = personOf(caller)
    if (!person || !action.recentSignIn?.isNeeded(input as never, person)) return
    const { currentPassword } = input
    if (typeof currentPassword === 'string') {
      await limits.take('current password', person.userId)
      const user = await db
        .selectFrom('user')
        .where('user_id', '=', person.userId)
        .select('password_hash')
        .executeTakeFirst()
      if (!(await verifyPassword(currentPassword, user?.password_hash)))
        throw needsPassword('The current password is wrong.')
      await limits.giveBack('current password', person.userId)
    } else if (person.actor === 'UserToken') {
      throw needsPassword('A token alone cannot do this: it needs the current password.')
    } else if (Date.now() - person.signedInAt.getTime() > RECENT_SIGN_IN_SECS * 1000) {
      throw needsPassword('Your sign-in is too old for this: it needs the current password.')
    }
  }

  /**
   * Whether a command is done whose commit was not answered: its audit row then has the status that the transaction gave it, and is
   * closed as Failed otherwise.
   */
  async function hasCommitted(actionId: string, status: FinalStatus): Promise<boolean> {
    try {
      // Waits for a commit that is still under way.
      return await retryWhileUnavailable(
        async () =>
          !(await closeAuditAction(db, actionId, 'Failed')) && (await auditStatus(db, actionId)) === status,
        () => false,
      )
    } catch {
      return false
    }
  }

  /** Closes an audit row after the rollback; nobody waits for a database that is away. */
  async function close(actionId: string, status: FinalStatus): Promise<void> {
    await closeAuditAction(db, actionId, status).catch(() => {
      // The start-up sweep closes what this process cannot.
      leftOpen
        .add({ actionId, status })
        .catch(error => log.error({ err: error, actionId }, 'audit row left open'))
    })
  }

  async function runEffects(effects: (() => void | Promise<void>)[], requestId: string): Promise<void> {
    for (const effect of effects) {
      try {
        await effect()
      } catch (error) {
        log.error({ err: error, requestId }, 'an effect after a commit failed')
      }
    }
  }

  function asActionError(error: unknown, name: string, requestId: string): ActionError {
    const expected = expectedError(error)
    if (expected) return expected
    log.error({ err: error, action: name, requestId }, 'action panicked')
    return new ActionError('Internal', 'Something went wrong on the hub.', { requestId, cause: error })
  }

  return {
    invoke,
    async run(caller, name, input) {
      const requestId = `internal-${crypto.randomUUID()}`
      return JSON.parse(await invoke(caller, name, JSON.stringify(input), requestId)) as ActionOutput<
        typeof name
      >
    },
  }
}

/** Parses and validates an input; throws `Invalid` with every issue and its path. Empty text counts as `{}` (catalogue 1.1). */
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
  const told = issues
    .slice(0, 5)
    .map(issue => (issue.path ? `${issue.path}: ${issue.message}` : issue.message))
  throw new ActionError('Invalid', `The input is not valid: ${told.join('; ')}.`, { issues })
}

/** Clients find the field that is missing in the issues. */
function needsPassword(message: string): ActionError {
  return new ActionError('Forbidden', message, { issues: [{ path: 'currentPassword', message }] })
}

function issueOf(issue: z.core.$ZodIssue): InputIssue {
  return { path: issue.path.join('.'), message: issue.message }
}

/** The result in an output that says that the command did not do its work, such as `InvalidToken`; nothing when it did. */
function failedResult({ failedResults }: Action, output: unknown): string | undefined {
  const { result } = output as { result?: string }
  return result !== undefined && failedResults.includes(result) ? result : undefined
}

/** Another node closed the audit row as this one's legacy: effect and record must not disagree, so the effect goes too. */
function takenForDead(): ActionError {
  return new ActionError('Internal', 'The hub took too long and was taken for dead; nothing was changed.', {
    status: 503,
  })
}

/** A value that another transaction took at the same moment is one too: the next attempt sees it and answers that it is taken. */
function isConflict(error: unknown): boolean {
  return sqlState(error) === '40001' || isDeadlock(error) || isUniqueViolation(error)
}

/** Whether a call of a query takes a connection of the scans: its contract declares when. */
function isScan({ cost }: Action, { filter }: Input): boolean {
  if (cost !== 'scan if filtered') return cost === 'scan'
  return Object.values(filter ?? {}).some(condition => condition !== undefined)
}

function pick(input: Input, fields: readonly string[]): Input {
  return Object.fromEntries(
    fields.filter(field => input[field] !== undefined).map(field => [field, input[field]]),
  )
}

function scopeIds({ organizationId = '', projectId, deviceId, repositoryId }: CommandContext['scope']) {
  return {
    organizationId,
    ...(projectId && { projectId }),
    ...(deviceId && { deviceId }),
    ...(repositoryId && { repositoryId }),
  }
}
