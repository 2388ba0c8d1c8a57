import { ByteBudget } from './byte-budget.ts'
import { decodeText } from './bytes.ts'
import { type Channel, coreOf } from './channel.ts'
import type { ChannelCore } from './channel-core.ts'
import { parseEnvelope } from './envelope.ts'
import { ChannelClosedError, LinkEndedError, ProtocolError } from './errors.ts'
import { EXECUTOR, encodeRequest } from './executor-format.ts'
import { FieldReader } from './field-reader.ts'
import { readU32 } from './frames.ts'
import type { WheelEntry } from './wheel.ts'

/** Options of an executor client. */
export interface ExecutorClientOptions {
  /**
   * Milliseconds from sending a request to its answer. No limit by default, since the protocol sets none. On timeout the
   * channel is closed: answers have no id, so a late answer would be mistaken for the answer to the next request.
   */
  readonly answerTimeoutMs?: number | undefined
  /** Memory budget for outputs over 64 KiB that arrive in pieces. By default all clients of the process share 256 MiB. */
  readonly budget?: ByteBudget | undefined
}

interface Call {
  readonly request: Uint8Array
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Limit of calls queued behind the running call; further calls are rejected. */
const MAX_WAITING_CALLS = 1024

const SHARED_BUDGET = new ByteBudget(256 * 1024 * 1024)
const NO_OPTIONS: ExecutorClientOptions = {}

/** Runs actions over an executor channel, one after the other in the order of the calls (docs/protocol.md 3.2). */
export class ExecutorClient implements WheelEntry {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  readonly #core: ChannelCore
  readonly #options: ExecutorClientOptions
  readonly #fields: FieldReader
  readonly #waiting: Call[] = []
  #current: Call | undefined = undefined
  #outputLength: number | undefined = undefined
  #failure: Error | undefined = undefined

  constructor(channel: Channel, options: ExecutorClientOptions = NO_OPTIONS) {
    this.#core = coreOf(channel)
    this.#options = options
    this.#fields = new FieldReader(options.budget ?? SHARED_BUDGET)
    this.#core.input.onReadable = () => this.#run()
    this.#core.onPeerStopped = () => this.#fail(new ChannelClosedError('the peer closed the executor'))
    // When the channel closes, calls that still wait must be rejected.
    void this.#core.closed.then(() => this.close())
    if (this.#core.output.hasPeerStopped) this.#fail(new ChannelClosedError('the peer closed the executor'))
    else this.#run()
  }

  /**
   * Runs an action; an undefined input is sent as the empty object. Rejects with RemoteActionError when the peer answers with an error,
   * and with LinkEndedError or ChannelClosedError when the link or the channel ends first. Rejects with ProtocolError for an invalid
   * response, and with RangeError for a name or input over the limits.
   */
  invoke(name: string, input: unknown): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#waiting.length >= MAX_WAITING_CALLS) {
      return Promise.reject(new RangeError('too many calls are waiting'))
    }
    return new Promise((resolve, reject) => {
      const request = encodeRequest(name, JSON.stringify(input) ?? '{}')
      this.#waiting.push({ request, resolve, reject })
      this.#sendNext()
    })
  }

  /** Closes the channel. Calls without an answer reject with ChannelClosedError. */
  close(): void {
    this.#fail(new ChannelClosedError('the executor was closed'))
  }

  /** Called by the timer wheel when the answer to the running call is overdue. */
  onDeadline(): void {
    this.#fail(new ProtocolError('the response took too long'))
  }

  #sendNext(): void {
    if (this.#current !== undefined) return
    const call = this.#waiting.shift()
    if (call === undefined) return
    this.#current = call
    const { answerTimeoutMs } = this.#options
    if (answerTimeoutMs !== undefined) this.#core.host.wheel.schedule(this, answerTimeoutMs)
    this.#core.output.tryWrite(call.request)
  }

  #run(): void {
    while (this.#failure === undefined) {
      const call = this.#current
      const output = call === undefined ? undefined : this.#nextOutput()
      if (call !== undefined && output !== undefined) this.#settle(call, output)
      else if (this.#failure !== undefined || !this.#read()) return
    }
  }

  /** Passes the next piece of data to the field reader. Returns false when no piece has arrived or the data has ended. */
  #read(): boolean {
    const piece = this.#core.input.tryRead()
    if (piece === undefined) return false
    if (piece === null) {
      this.#ended()
      return false
    }
    if (this.#current === undefined) this.#fail(new ProtocolError('a response without a request'))
    else this.#fields.feed(piece)
    return true
  }

  #nextOutput(): Uint8Array | undefined {
    if (this.#outputLength === undefined) {
      const header = this.#fields.take(4)
      if (header === undefined) return undefined
      const length = readU32(header, 0)
      if (length > EXECUTOR.maxOutputBytes) {
        this.#fail(new ProtocolError('a response over 8 MiB'))
        return undefined
      }
      this.#outputLength = length
      this.#core.host.wheel.schedule(this, EXECUTOR.bodyTimeoutMs)
    }
    return this.#fields.take(this.#outputLength)
  }

  #settle(call: Call, output: Uint8Array): void {
    this.#core.host.wheel.cancel(this)
    this.#current = undefined
    this.#outputLength = undefined
    try {
      if (this.#fields.isStarved) throw new ProtocolError('out of memory for large responses')
      const text = decodeText(output)
      if (text === undefined) throw new ProtocolError('the response is not UTF-8')
      call.resolve(parseEnvelope(text))
    } catch (error) {
      call.reject(error)
    }
    this.#fields.release()
    // Bytes that arrive before the next request is sent cannot be the answer to that request.
    if (this.#fields.hasRest) this.#fail(new ProtocolError('a response without a request'))
    else this.#sendNext()
  }

  #ended(): void {
    const { linkEnd, input } = this.#core
    this.#fail(
      linkEnd !== undefined && input.isTruncated
        ? new LinkEndedError(linkEnd)
        : new ChannelClosedError('the peer closed the executor'),
    )
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#core.host.wheel.cancel(this)
    this.#core.input.onReadable = undefined
    this.#core.onPeerStopped = undefined
    this.#fields.clear()
    this.#current?.reject(error)
    this.#current = undefined
    for (const call of this.#waiting) call.reject(error)
    this.#waiting.length = 0
    this.#core.close()
  }
}
