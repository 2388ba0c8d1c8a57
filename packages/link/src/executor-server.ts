import { ByteBudget, type InputBudget } from './byte-budget.ts'
import { decodeText, lengthPrefixed } from './bytes.ts'
import { type Channel, coreOf } from './channel.ts'
import type { ChannelCore } from './channel-core.ts'
import { errorEnvelope } from './envelope.ts'
import { EXECUTOR } from './executor-format.ts'
import { RequestReader } from './request-reader.ts'
import type { WheelEntry } from './wheel.ts'

/** The answer of an action as JSON text, or the bytes of that text. Its form is that of `okEnvelope` or `errorEnvelope`. */
export type ExecutorAnswer = string | Uint8Array

/** A running action that was not answered yet. */
export interface ExecutorCall {
  /** Answers the action. Call it once, and only if the handle has returned undefined. */
  answer(answer: ExecutorAnswer): void
}

/**
 * Runs one action. `input` is raw JSON bytes, valid until the answer is given. A handle that returns undefined answers later through `call`,
 * which costs less than a promise.
 */
export type ExecutorHandle = (
  name: string,
  input: Uint8Array,
  call: ExecutorCall,
) => ExecutorAnswer | Promise<ExecutorAnswer> | undefined

/** An object that runs actions. It saves memory at servers of many channels, because no function object per channel is needed. */
export interface ExecutorRunner {
  /** Runs one action, as an `ExecutorHandle` does. */
  runAction: ExecutorHandle
}

/** Options for serving an executor channel, over which the peer runs actions. */
export interface ExecutorOptions {
  /** Memory budget for inputs over 64 KiB that arrive in pieces. By default all servers of the process share 256 MiB. */
  readonly budget?: InputBudget | undefined
  /**
   * Answers a request whose input exceeded the budget. Without this function, or when it returns undefined, the answer is
   * `Internal`.
   */
  readonly answerStarved?: (() => ExecutorAnswer | undefined) | undefined
  /** Receives errors that the action threw. The peer gets only the error kind `Internal`. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** An executor channel that this side serves: the peer runs actions on it. */
export interface ExecutorService {
  /** Resolves when the channel has ended on either side. Never rejects. */
  readonly ended: Promise<void>
}

// Number of requests after which the server yields to the event loop. One frame can hold thousands of tiny requests.
const REQUESTS_PER_TURN = 64

const SHARED_BUDGET = new ByteBudget(256 * 1024 * 1024)
const NO_OPTIONS: ExecutorOptions = {}

class ExecutorServer implements WheelEntry, ExecutorService, ExecutorCall {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  readonly #core: ChannelCore
  readonly #handle: ExecutorHandle | ExecutorRunner
  readonly #options: ExecutorOptions
  readonly #requests: RequestReader
  // True while an action runs or its answer waits for room in the output queue. While true, the server reads no further request.
  #isBusy = false
  #isOver = false
  #isWaiting = false
  #sinceYield = 0

  constructor(core: ChannelCore, handle: ExecutorHandle | ExecutorRunner, options: ExecutorOptions) {
    this.#core = core
    this.#handle = handle
    this.#options = options
    this.#requests = new RequestReader(options.budget ?? SHARED_BUDGET)
    core.output.isAnswers = true
    core.input.onReadable = () => this.#run()
    core.onPeerStopped = () => this.#close()
    // Requests, or the peer's ChannelClose, may have arrived before this server was attached.
    if (core.output.hasPeerStopped) this.#close()
    else this.#run()
  }

  get ended(): Promise<void> {
    return this.#core.closed
  }

  onDeadline(): void {
    this.#close()
  }

  answer(answer: ExecutorAnswer): void {
    this.#respond(answer)
    this.#run()
  }

  #run(): void {
    while (!this.#isBusy && !this.#isWaiting && !this.#isOver) {
      // A peer that does not read its answers may not start further actions. Its next requests stay unread, so they fill buffers of the
      // peer and not of this side.
      if (this.#requests.isBetweenRequests && !this.#core.host.mayAnswer(() => this.#resumeReading())) {
        this.#isWaiting = true
        return
      }
      const step = this.#requests.next()
      if (step === 'NeedMore') {
        if (!this.#read()) return
      } else if (step === 'OverLimit') {
        this.#close()
      } else {
        this.#core.host.wheel.cancel(this)
        this.#answer(step === 'Dropped')
      }
    }
  }

  #resumeReading(): void {
    this.#isWaiting = false
    this.#run()
  }

  /** Passes the next piece of data to the request reader. Returns false when no piece has arrived or the data has ended. */
  #read(): boolean {
    const piece = this.#core.input.tryRead()
    if (piece === undefined) {
      if (this.wheelTick === 0 && !this.#requests.isIdle) {
        this.#core.host.wheel.schedule(this, EXECUTOR.bodyTimeoutMs)
      }
      return false
    }
    if (piece === null) {
      // When the peer has ended its data, this side ends its data too (docs/protocol.md R-14). An incomplete request cannot be
      // answered.
      if (this.#requests.isIdle) this.#core.output.end()
      this.#close(this.#requests.isIdle)
      return false
    }
    this.#requests.feed(piece)
    return true
  }

  #answer(isDropped: boolean): void {
    const name = decodeText(this.#requests.name)
    if (isDropped) {
      this.#respond(
        this.#options.answerStarved?.() ??
          errorEnvelope('Internal', 'out of memory for large inputs, try again'),
      )
    } else if (name === undefined) {
      this.#respond(errorEnvelope('Invalid', 'action name is not valid UTF-8'))
    } else {
      this.#invoke(name)
    }
  }

  #invoke(name: string): void {
    this.#isBusy = true
    try {
      const handle = this.#handle
      const { input } = this.#requests
      const answer =
        typeof handle === 'function' ? handle(name, input, this) : handle.runAction(name, input, this)
      if (answer instanceof Promise) {
        answer.then(
          output => this.answer(output),
          (error: unknown) => this.answer(this.#failed(error)),
        )
      } else if (answer !== undefined) {
        this.#respond(answer)
      }
    } catch (error) {
      this.#respond(this.#failed(error))
    }
  }

  #respond(answer: ExecutorAnswer): void {
    if (this.#isOver) return
    this.#requests.release()
    let message = lengthPrefixed(answer)
    if (message.length - 4 > EXECUTOR.maxOutputBytes) {
      message = lengthPrefixed(errorEnvelope('Internal', 'output over 8 MiB'))
    }
    this.#isBusy = true
    if (!this.#core.output.tryWrite(message)) {
      this.#core.output.onWritable = () => this.#continue()
    } else if (++this.#sinceYield === REQUESTS_PER_TURN) {
      this.#sinceYield = 0
      setImmediate(() => this.#continue())
    } else {
      this.#isBusy = false
    }
  }

  #continue(): void {
    this.#core.output.onWritable = undefined
    this.#isBusy = false
    this.#run()
  }

  #failed(error: unknown): string {
    this.#options.onError?.(error)
    return errorEnvelope('Internal', 'internal error')
  }

  #close(isOrderly = false): void {
    this.#isOver = true
    this.#core.host.wheel.cancel(this)
    this.#requests.clear()
    this.#core.input.onReadable = undefined
    this.#core.output.onWritable = undefined
    this.#core.onPeerStopped = undefined
    if (!isOrderly) this.#core.close()
  }
}

/**
 * Serves an executor channel: requests run one after the other, and each is answered with the result of `handle` (docs/protocol.md 3.2).
 * A header over the limits or a request that stays incomplete closes the channel, not the connection. When the peer ends its data, this
 * side ends its data too (docs/protocol.md R-14).
 */
export function serveExecutor(
  channel: Channel,
  handle: ExecutorHandle | ExecutorRunner,
  options: ExecutorOptions = NO_OPTIONS,
): ExecutorService {
  return new ExecutorServer(coreOf(channel), handle, options)
}
