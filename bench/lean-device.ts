import { createHash } from 'node:crypto'
import { BASE58, encodeRadix } from '@muster/actions'
import { encodeFrame, FRAME, MAGIC, parseEnvelope } from '@muster/link'
import { frameOf, patchFrame, RawSocket, type Target } from './raw-socket.ts'

const PATH = '/api/v1/connect/ws'
const HELLO = frameOf(encodeFrame({ type: 'Hello', magic: MAGIC, info: new Uint8Array() }))
const PING = frameOf(encodeFrame({ type: 'Ping' }))
const PONG = frameOf(encodeFrame({ type: 'Pong' }))
/** Id of the only channel that a device opens: its executor channel, over which it runs actions. */
const EXECUTOR_ID = 1
const OPEN_EXECUTOR = frameOf(
  encodeFrame({
    type: 'ChannelRequest',
    senderId: EXECUTOR_ID,
    frameCredit: FRAME.initialFrameCredit,
    byteCredit: FRAME.initialByteCredit,
    endpoint: Buffer.from('executor'),
  }),
)
/** The device returns flow-control credit to the hub when half of the initial credit is used. */
const ADJUST_AFTER_FRAMES = FRAME.initialFrameCredit / 2
const ADJUST_AFTER_BYTES = FRAME.initialByteCredit / 2
/**
 * Largest call in bytes: half of the initial credit. The hub returns credit only after half of it is used, so at times only half is
 * available, and a larger call could wait forever.
 */
const MAX_CALL_BYTES = FRAME.initialByteCredit / 2

/** Port of the hub, and the deployment token and certificate that all devices of a load client share. */
export type HubTarget = Target & {
  token: string
  /** Certificate in PEM for `X-Client-Cert` on connections without TLS. */
  certificatePem?: string
}

/**
 * A simulated device that costs the load client little CPU time. It has one executor channel, sends calls that were prepared as
 * whole frames, and answers the hub's Pings.
 */
export class LeanDevice {
  deviceId = ''
  /** Number of events created so far. The ids of events are derived from this number. */
  eventsMade = 0
  /** Called with the response to the last call: the JSON text of its result or error (docs/protocol.md 3.2). */
  onAnswer: (envelope: Buffer) => void = () => {}
  /** Called when a connection ended. */
  onEnd: (error: Error) => void = () => {}
  readonly #fingerprint: string
  #socket: RawSocket | undefined
  #channelId = 0
  #byteCredit = 0
  #waiting: { frame: Buffer; bytes: number } | undefined
  #usedFrames = 0
  #usedBytes = 0
  #answer: Buffer | undefined
  #isPingOut = false
  #session: Buffer | undefined
  #opened: { done: () => void; failed: (error: Error) => void } | undefined

  constructor(number: number, seed: string) {
    const digest = createHash('sha512-256').update(`${seed} ${number}`).digest()
    this.#fingerprint = `d_sk_${encodeRadix(digest, BASE58)}`
  }

  get isOpen(): boolean {
    return this.#socket?.isOpen ?? false
  }

  /** True if calls can be sent. */
  get isReady(): boolean {
    return this.isOpen && this.#channelId !== 0
  }

  get isResumed(): boolean {
    return this.#socket?.isResumed ?? false
  }

  /**
   * Connects and opens the executor channel, which the hub accepts only after the device is recorded as connected. With `resumes`, it
   * resumes the TLS session of the previous connection. Resolves to the time when the WebSocket was accepted.
   */
  async connect(target: HubTarget, resumes = false): Promise<number> {
    const { token, certificatePem } = target
    const headers = [
      `Authorization: Bearer ${token}`,
      `X-Deployment-Token: ${token}`,
      'X-Register-Connection: true',
      `X-Device-Fingerprint: ${this.#fingerprint}`,
      ...(certificatePem === undefined ? [] : [`X-Client-Cert: ${encodeURIComponent(certificatePem)}`]),
    ]
    const opening = Promise.withResolvers<void>()
    // The promise may reject before it is awaited, which would be an unhandled rejection.
    opening.promise.catch(() => {})
    this.#opened = { done: opening.resolve, failed: opening.reject }
    const socket = await RawSocket.open(
      {
        ...target,
        ...(resumes && { session: this.#session }),
        onSession: session => {
          this.#session = session
        },
      },
      PATH,
      headers.map(header => `${header}\r\n`).join(''),
      () => {
        const error = new Error('the hub closed the connection')
        this.#opened?.failed(error)
        this.onEnd(error)
      },
    )
    this.#socket = socket
    this.#channelId = 0
    this.#isPingOut = false
    this.#waiting = undefined
    this.#answer = undefined
    this.#usedFrames = 0
    this.#usedBytes = 0
    socket.onMessage = frame => this.#receive(frame)
    socket.write(Buffer.concat([HELLO, OPEN_EXECUTOR]))
    await opening.promise
    if (this.deviceId === '') {
      const { actor } = (await this.invoke('actor_GetActor', {})) as { actor: { deviceId: string } }
      this.deviceId = actor.deviceId
    }
    return socket.acceptedAt
  }

  /** Runs an action; rejects with the hub's error. */
  invoke(name: string, input: object): Promise<unknown> {
    return new Promise((done, failed) => {
      this.onEnd = failed
      this.onAnswer = envelope => {
        try {
          done(parseEnvelope(envelope.toString()))
        } catch (error) {
          failed(error as Error)
        }
      }
      this.send(this.prepare(name, JSON.stringify(input)))
    })
  }

  /** Encodes a call as one frame. Throws RangeError if the call is longer than `MAX_CALL_BYTES`. */
  prepare(name: string, input: string): PreparedCall {
    const payload = Buffer.allocUnsafe(2 + name.length + 4 + Buffer.byteLength(input))
    payload.writeUInt16BE(name.length)
    payload.write(name, 2)
    payload.writeUInt32BE(payload.length - 6 - name.length, 2 + name.length)
    payload.write(input, 6 + name.length)
    if (payload.length > MAX_CALL_BYTES)
      throw new RangeError(`a call has ${payload.length} bytes, at most ${MAX_CALL_BYTES} are sent`)
    const message = encodeFrame({ type: 'ChannelData', receiverId: this.#channelId, payload })
    return { frame: frameOf(message), payloadBytes: payload.length, messageBytes: message.length }
  }

  /** Sends a call, or keeps it until the channel's flow control allows it. The previous call must have been answered. */
  send({ frame, payloadBytes }: PreparedCall): void {
    if (this.#byteCredit < payloadBytes) {
      this.#waiting = { frame, bytes: payloadBytes }
      return
    }
    this.#byteCredit -= payloadBytes
    this.#socket!.write(frame)
  }

  /** Sends a Ping unless the previous Ping is unanswered. Agents send a Ping every 5 s. */
  ping(): void {
    if (this.#isPingOut || !this.isReady) return
    this.#isPingOut = true
    this.#socket!.write(PING)
  }

  destroy(): void {
    this.#socket?.destroy()
  }

  #receive(message: Buffer): void {
    switch (message[0]) {
      case 0x13:
        this.#receiveData(message.subarray(FRAME.dataHeaderBytes))
        return
      case 0x14:
        this.#byteCredit += message.readUInt32BE(13)
        if (this.#waiting && this.#byteCredit >= this.#waiting.bytes) {
          const { frame, bytes } = this.#waiting
          this.#waiting = undefined
          this.#byteCredit -= bytes
          this.#socket!.write(frame)
        }
        return
      case 0x20:
        this.#socket!.write(PONG)
        return
      case 0x21:
        this.#isPingOut = false
        return
      case 0x11:
        this.#channelId = message.readUInt32BE(13)
        this.#byteCredit = message.readUInt32BE(21)
        this.#opened?.done()
        this.#opened = undefined
        return
      case 0x00:
        return
      default:
        // The hub refused or closed the channel, or closes the link. This is unexpected for an idle or publishing device.
        this.#opened?.failed(new Error(`the hub sent frame ${message[0]}: ${message.toString('latin1', 1)}`))
        this.#socket!.destroy()
    }
  }

  #receiveData(payload: Buffer): void {
    this.#usedFrames++
    this.#usedBytes += payload.length
    if (this.#usedFrames >= ADJUST_AFTER_FRAMES || this.#usedBytes >= ADJUST_AFTER_BYTES) {
      const credit = { frameCredit: this.#usedFrames, byteCredit: this.#usedBytes }
      this.#socket!.write(
        frameOf(encodeFrame({ type: 'ChannelAdjust', receiverId: this.#channelId, ...credit })),
      )
      this.#usedFrames = 0
      this.#usedBytes = 0
    }
    const answer = this.#answer ? Buffer.concat([this.#answer, payload]) : payload
    if (answer.length < 4 || answer.length < 4 + answer.readUInt32BE(0)) {
      this.#answer = answer
      return
    }
    this.#answer = undefined
    this.onAnswer(answer.subarray(4))
  }
}

/** A call encoded as a WebSocket frame. The frame contains a link message, which contains the call as payload of the executor channel. */
export type PreparedCall = { frame: Buffer; payloadBytes: number; messageBytes: number }

const ID_LENGTH = 8
const BASE58_BYTES = Buffer.from(BASE58)
/** Body of an event whose stored row has about 200 bytes, as docs/goals.md demands. */
export const EVENT_BODY = { message: 'x'.repeat(120), n: 1 }

/**
 * Repeated calls of `devices_PublishEvents` with the same events under new ids. Patching the ids into one prepared frame costs
 * little CPU time.
 */
export class EventCalls {
  readonly #device: LeanDevice
  readonly #call: PreparedCall
  readonly #idOffsets: number[] = []
  readonly #stamp: string

  /** `stamp` is the first part of the event ids, by default derived from the current minute. */
  constructor(device: LeanDevice, window: number, stamp = eventStamp(new Date())) {
    this.#device = device
    const emittedAt = new Date().toISOString()
    this.#stamp = stamp
    const event = {
      eventId: `${this.#stamp}${'1'.repeat(ID_LENGTH)}`,
      severity: 'Info',
      category: 'bench',
      body: EVENT_BODY,
      attributes: {},
      emittedAt,
    }
    const name = 'devices_PublishEvents'
    const input = JSON.stringify({
      deviceId: device.deviceId,
      events: Array.from({ length: window }, () => event),
    })
    this.#call = device.prepare(name, input)
    const start = FRAME.dataHeaderBytes + 6 + name.length
    for (let at = input.indexOf(this.#stamp); at >= 0; at = input.indexOf(this.#stamp, at + 1))
      this.#idOffsets.push(start + at + this.#stamp.length)
  }

  /** Prepares the frame for the device's current connection. The event ids continue, so that no id is used twice. */
  again(): EventCalls {
    return new EventCalls(this.#device, this.#idOffsets.length, this.#stamp)
  }

  /** Prepares the next call. It reuses the memory of the previous call, which must have been sent already. */
  next(): PreparedCall {
    const { frame, messageBytes } = this.#call
    for (const offset of this.#idOffsets) {
      let rest = scrambled(this.#device.eventsMade++)
      for (let at = 0; at < ID_LENGTH; at++) {
        patchFrame(frame, messageBytes, offset + at, BASE58_BYTES[rest % 58]!)
        rest = Math.floor(rest / 58)
      }
    }
    return this.#call
  }

  /** Ids of the device's events number `from` (inclusive) to `to` (exclusive). */
  ids(from: number, to: number): string[] {
    return Array.from({ length: to - from }, (_, at) => this.#stamp + eventSuffix(from + at))
  }
}

/** Returns the last part of the id of the event with this number. Different numbers give different suffixes, which look random. */
export function eventSuffix(number: number): string {
  let rest = scrambled(number)
  let text = ''
  for (let at = 0; at < ID_LENGTH; at++) {
    text += BASE58[rest % 58]
    rest = Math.floor(rest / 58)
  }
  return text
}

/** First part of an event id: `d_ev_YYYYMMDD-HHMM-` in UTC. */
export function eventStamp(at: Date): string {
  const iso = at.toISOString()
  return `d_ev_${iso.slice(0, 10).replaceAll('-', '')}-${iso.slice(11, 16).replace(':', '')}-`
}

/** Maps a number below 2^32 to a unique number below 2^47, so that every character of an id suffix varies. */
function scrambled(number: number): number {
  return (Math.imul(number + 1, 0x9e3779b1) >>> 0) * 25_013
}
