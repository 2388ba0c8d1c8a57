import { elementTexts, memberText } from '@muster/actions/exact-json'
import { RemoteActionError } from '@muster/link'
import type { Clock } from '../clock.ts'
import { withDeadline } from '../deadline.ts'
import { codeOf, describeError } from '../describe-error.ts'
import { invokeExactly } from '../exact-invoke.ts'
import { type JsonText, jsonArray, jsonObject, jsonTextOf } from '../json-text.ts'
import type { Log } from '../log.ts'
import { ANSWER_TIMEOUT_MS, type Session } from '../session.ts'
import { COMMANDS_PROPERTY, type DeviceCommand, manifestOf, readCommands } from './device-commands.ts'
import { runProgram } from './run-program.ts'
import type { StepKey, WorkLedger } from './work-ledger.ts'

/** A task that this device can do, from its configuration. */
export type DeviceTask = {
  name: string
  /** Program and its arguments. */
  handler: readonly string[]
  /** Whether the program can go on from its last checkpoint after it was interrupted. */
  isResumable: boolean
}

/** What of operations this device does. */
export type OperationsConfig = {
  pollIntervalSecs: number
  tasks: readonly DeviceTask[]
}

type DeviceWorkOptions = {
  /** Undefined if the device does no work of operations. */
  operations: OperationsConfig | undefined
  /** Folder with definitions of commands; undefined if the device offers none. */
  commandsFolder: string | undefined
  ledger: WorkLedger
  log: Log
  clock: Clock
}

/** Work that the hub has handed out. `input` and `checkpoint` are JSON texts. */
type Work = StepKey & {
  claimId: string
  operationName: string
  kind: 'DeviceCommand' | 'DeviceTask'
  name: string
  input: string
  checkpoint: string | undefined
  timeoutSecs: number
}

/** A program that runs for a step. It goes on while the connection is lost. */
type Running = {
  work: Work
  stop: AbortController
  /** Resolves when the result is in the ledger. */
  ended: Promise<void>
  hasEnded: boolean
  /** Last checkpoint that is not reported yet. */
  checkpoint: string | undefined
}

const DEFAULT_COMMAND_SECS = 3600
const DEFAULT_TASK_SECS = 86_400
/** Interval in milliseconds at which checkpoints are stored and reported. */
const CHECKPOINT_MS = 2_000
/** Interval in milliseconds at which a running step is reported, so that the agent learns of a cancellation. */
const RUNNING_MS = 60_000
/** Pauses between attempts to report, in milliseconds. */
const REPORT_PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 30_000]
const OPEN_TIMEOUT_MS = 30_000
/** Longest error that the hub takes, in characters. */
const MAX_ERROR_LENGTH = 4_000
const OPERATION_ID = /^d_op_[1-9A-HJ-NP-Za-km-z]{22}$/
const INTERRUPTED = 'The agent or the device was restarted while the step ran. It is not run a second time.'

/**
 * Does steps of operations for the hub, one at a time (docs/protocol.md 4.5): claims a step, runs its program, and reports the result. The
 * ledger keeps it from running a step twice, whatever happens between.
 */
export class DeviceWork {
  readonly #options: DeviceWorkOptions
  readonly #log: Log
  #commands: readonly DeviceCommand[] = []
  #running: Running | undefined
  /** Result that the hub has not taken yet, as the JSON text of the report. */
  #toReport: { work: Work; report: string } | undefined
  #failures = 0
  #logged = ''

  constructor(options: DeviceWorkOptions) {
    this.#options = options
    this.#log = options.log
  }

  /** Publishes the commands of this device, and does work until the connection ends. */
  async serve(session: Session, over: AbortSignal): Promise<void> {
    const { commandsFolder, operations } = this.#options
    if (commandsFolder !== undefined) {
      this.#commands = await readCommands(commandsFolder, this.#log)
      await this.#guarded(session, over, () => this.#publishCommands(session))
    }
    if (operations === undefined || this.#kinds().length === 0) return
    while (!over.aborted) await this.#guarded(session, over, () => this.#turn(session, over, operations))
  }

  /** Ends the program of a running step. The ledger keeps that it had begun. */
  async stop(): Promise<void> {
    this.#running?.stop.abort()
    await this.#running?.ended
  }

  async #turn(session: Session, over: AbortSignal, { pollIntervalSecs }: OperationsConfig): Promise<void> {
    if (this.#running) await this.#attend(session, over, this.#running)
    else if (this.#toReport) await this.#reportResult(session, this.#toReport)
    else {
      const work = await this.#claim(session)
      if (work) await this.#begin(work)
      else await this.#pause(pollIntervalSecs * 1000, over)
    }
    this.#failures = 0
    this.#logged = ''
  }

  /** Pauses after a failure, and gives up the connection if its channels fail. */
  async #guarded(session: Session, over: AbortSignal, run: () => Promise<void>): Promise<void> {
    try {
      await run()
    } catch (error) {
      if (over.aborted) return
      const reason = describeError(error)
      if (reason !== this.#logged) this.#log.warn(`work of operations: ${reason}`)
      this.#logged = reason
      // Only errors of the file system have a code here. The others of the connection do not pass by themselves.
      if (!(error instanceof RemoteActionError) && codeOf(error) === undefined)
        session.link.close('the executor channel failed')
      const pauseMs = REPORT_PAUSES_MS[Math.min(this.#failures++, REPORT_PAUSES_MS.length - 1)]!
      await this.#pause(pauseMs, over)
    }
  }

  async #publishCommands({ deviceId, executor }: Session): Promise<void> {
    const value = manifestOf(this.#commands)
    await executor.invoke('devices_SetProperty', { deviceId, name: COMMANDS_PROPERTY, value })
  }

  #kinds(): Work['kind'][] {
    const { commandsFolder, operations } = this.#options
    return [
      ...(commandsFolder === undefined ? [] : ['DeviceCommand' as const]),
      ...(operations && operations.tasks.length > 0 ? ['DeviceTask' as const] : []),
    ]
  }

  async #claim(session: Session): Promise<Work | undefined> {
    const answer = await this.#invoke(session, 'devices_ClaimOperationWork', {
      deviceId: jsonTextOf(session.deviceId),
      limit: jsonTextOf(1),
      kinds: jsonArray(this.#kinds().map(jsonTextOf)),
    })
    const [item] = elementTexts(memberText(answer, 'work') ?? '[]')
    return item === undefined ? undefined : workIn(item)
  }

  /** Runs the program of a step, unless the ledger has the step. */
  async #begin(work: Work): Promise<void> {
    const { ledger } = this.#options
    const known = await ledger.result(work)
    if (known !== undefined) {
      this.#toReport = { work, report: known }
      return
    }
    const program = this.#programOf(work)
    if (!program) return this.#end(work, failure(`This device knows no ${wordsFor(work)}.`))
    const isNew = await ledger.begin(work)
    if (!isNew && !program.isResumable) return this.#end(work, failure(INTERRUPTED))
    const checkpoint = (isNew ? undefined : await ledger.checkpoint(work)) ?? work.checkpoint
    this.#log.info(
      `operation ${work.deviceOperationId}: ${isNew ? 'runs' : 'goes on with'} ${wordsFor(work)}`,
    )
    const running: Running = {
      work,
      stop: new AbortController(),
      ended: Promise.resolve(),
      hasEnded: false,
      checkpoint: undefined,
    }
    running.ended = this.#run(running, program.handler, checkpoint)
      .catch(error => this.#end(work, failure(describeError(error))))
      .finally(() => {
        running.hasEnded = true
      })
    this.#running = running
  }

  async #run(running: Running, handler: readonly string[], checkpoint: string | undefined): Promise<void> {
    const { work, stop } = running
    let output: string | undefined
    const end = await runProgram({
      handler,
      input: inputFor(work, checkpoint),
      timeoutSecs: work.timeoutSecs,
      signal: stop.signal,
      onMessage: (type, data) => {
        if (type === 'Output') output = data
        else if (type === 'Checkpoint' && work.kind === 'DeviceTask') running.checkpoint = data
      },
    })
    // Whether a stopped step has been done is not known. A new start of the agent reports it as interrupted, or goes on with it.
    if (end.kind === 'Stopped') return
    const report = end.kind === 'Failed' ? failure(end.error, output) : success(output)
    await this.#end(work, report)
  }

  /** Notes the result of a step, and that it is to be reported. */
  async #end(work: Work, report: string): Promise<void> {
    // Without the note, the next claim finds the step begun and reports it as interrupted, which is safe.
    await this.#options.ledger
      .finish(work, report)
      .catch(error => this.#log.error(`the result of a step is not stored: ${describeError(error)}`))
    this.#toReport = { work, report }
  }

  /** Reports checkpoints of a running step, until it ends or the connection does. */
  async #attend(session: Session, over: AbortSignal, running: Running): Promise<void> {
    const { clock, ledger } = this.#options
    let reportedMs = clock.elapsed()
    const ended = new AbortController()
    const waiting = AbortSignal.any([over, ended.signal])
    void running.ended.finally(() => ended.abort()).catch(() => {})
    while (!running.hasEnded && !over.aborted) {
      await this.#pause(CHECKPOINT_MS, waiting)
      if (running.hasEnded || over.aborted) break
      const { checkpoint } = running
      if (checkpoint === undefined && clock.elapsed() - reportedMs < RUNNING_MS) continue
      if (checkpoint !== undefined) await ledger.saveCheckpoint(running.work, checkpoint)
      const answer = await this.#report(
        session,
        running.work,
        jsonObject({ status: jsonTextOf('Running'), checkpoint: checkpoint as JsonText | undefined }),
      )
      reportedMs = clock.elapsed()
      if (running.checkpoint === checkpoint) running.checkpoint = undefined
      if ((JSON.parse(answer) as { isSuperseded?: unknown }).isSuperseded !== true) continue
      this.#log.info(`operation ${running.work.deviceOperationId}: the hub no longer waits for the step`)
      running.stop.abort()
      await running.ended
      await ledger.finish(running.work, failure('The hub no longer waited for the step.'))
      this.#toReport = undefined
    }
    if (running.hasEnded) this.#running = undefined
  }

  async #reportResult(session: Session, { work, report }: { work: Work; report: string }): Promise<void> {
    try {
      await this.#report(session, work, report as JsonText)
    } catch (error) {
      if (!(error instanceof RemoteActionError) || error.shouldRetry()) throw error
      this.#log.warn(`operation ${work.deviceOperationId}: the hub refused the report: ${error.message}`)
    }
    this.#toReport = undefined
  }

  #report(
    session: Session,
    { deviceOperationId, stepIndex, claimId }: Work,
    report: JsonText,
  ): Promise<string> {
    return this.#invoke(session, 'devices_ReportOperationStep', {
      deviceId: jsonTextOf(session.deviceId),
      deviceOperationId: jsonTextOf(deviceOperationId),
      stepIndex: jsonTextOf(stepIndex),
      claimId: jsonTextOf(claimId),
      report,
    })
  }

  async #invoke({ link }: Session, action: string, input: Record<string, JsonText>): Promise<string> {
    const channel = await link.open('executor', { timeoutMs: OPEN_TIMEOUT_MS })
    const answer = invokeExactly(channel, action, jsonObject(input))
    return withDeadline(answer, ANSWER_TIMEOUT_MS, action)
  }

  #programOf({ kind, name }: Work): { handler: readonly string[]; isResumable: boolean } | undefined {
    if (kind === 'DeviceTask') return this.#options.operations?.tasks.find(task => task.name === name)
    const command = this.#commands.find(one => one.name === name)
    return command && { handler: command.handler, isResumable: false }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(ms, signal).catch(() => {})
  }
}

/** Text for the standard input of a program. A command gets its input, a task also its step and its checkpoint. */
function inputFor({ kind, input, ...step }: Work, checkpoint: string | undefined): string {
  if (kind === 'DeviceCommand') return input === 'null' ? '' : `${input}\n`
  const members = {
    deviceOperationId: jsonTextOf(step.deviceOperationId),
    stepIndex: jsonTextOf(step.stepIndex),
    input: input as JsonText,
    checkpoint: checkpoint as JsonText | undefined,
  }
  return `${jsonObject(members)}\n`
}

function success(output: string | undefined): string {
  return jsonObject({ status: jsonTextOf('Succeeded'), output: output as JsonText | undefined })
}

function failure(error: string, output?: string): string {
  const text = error.replaceAll('\0', '').slice(0, MAX_ERROR_LENGTH).toWellFormed()
  return jsonObject({
    status: jsonTextOf('Failed'),
    output: output as JsonText | undefined,
    error: jsonTextOf(text),
  })
}

function wordsFor({ kind, name }: Work): string {
  return `${kind === 'DeviceTask' ? 'task' : 'command'} ${name}`
}

/** Reads an item of work. Throws for one that does not have the form of the protocol. */
function workIn(item: string): Work {
  const { deviceOperationId, claimId, operationName, stepIndex, step } = JSON.parse(item) as {
    deviceOperationId?: unknown
    claimId?: unknown
    operationName?: unknown
    stepIndex?: unknown
    step?: { kind?: unknown; command?: unknown; task?: unknown; timeoutSecs?: unknown }
  }
  const kind = step?.kind
  const name = kind === 'DeviceTask' ? step?.task : step?.command
  const isKnown = kind === 'DeviceCommand' || kind === 'DeviceTask'
  // The id becomes the name of a file.
  if (
    typeof deviceOperationId !== 'string' ||
    !OPERATION_ID.test(deviceOperationId) ||
    typeof claimId !== 'string' ||
    typeof stepIndex !== 'number' ||
    !Number.isSafeInteger(stepIndex) ||
    !isKnown ||
    typeof name !== 'string'
  )
    throw new TypeError('the hub sent work that has not the form of the protocol')
  const defaultSecs = kind === 'DeviceTask' ? DEFAULT_TASK_SECS : DEFAULT_COMMAND_SECS
  const { timeoutSecs } = step!
  return {
    deviceOperationId,
    claimId,
    operationName: String(operationName),
    stepIndex,
    kind,
    name,
    input: memberText(memberText(item, 'step')!, 'input') ?? 'null',
    checkpoint: memberText(item, 'checkpoint'),
    timeoutSecs: typeof timeoutSecs === 'number' && timeoutSecs > 0 ? timeoutSecs : defaultSecs,
  }
}
