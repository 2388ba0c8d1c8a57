import { decodeLossyText, encodeBoundedText } from './bytes.ts'
import { Channel } from './channel.ts'
import { ChannelCore } from './channel-core.ts'
import type { ChannelHost, ChannelState, HostedChannel } from './channel-host.ts'
import type { Clock } from './clock.ts'
import { FrameError, type LinkEnd, LinkEndedError } from './errors.ts'
import { decodeFrame, encodeFrame, FRAME, type Frame, MAGIC, readId, readU32, TAG } from './frames.ts'
import { Heartbeat, heartbeatTimes } from './heartbeat.ts'
import { hasOwnMark, helloInfo, returnWithinMsOf } from './hello-info.ts'
import { type LinkLimits, resolveLimits } from './limits.ts'
import type { LinkOptions } from './link-options.ts'
import type { OpenOptions } from './opening.ts'
import { type AcceptedChannel, Opens, type OpensHost } from './opens.ts'
import { Outgoing } from './outgoing.ts'
import type { PeerAge } from './peer-age.ts'
import { RateCounts } from './rate-counts.ts'
import type { IncomingRequest } from './request.ts'
import { Requests, type RequestsHost } from './requests.ts'
import { type LateFrame, Tombstones } from './tombstones.ts'
import type { Transport } from './transport.ts'
import { TICK_MS, type Wheel, type WheelEntry } from './wheel.ts'

const PING = encodeFrame({ type: 'Ping' })
const PONG = encodeFrame({ type: 'Pong' })

// Legacy peers send a Ping right after their Hello, current peers 5 s later (docs/protocol.md 1.7). The limit of 3 s leaves time for a
// slow line.
const LEGACY_PING_TICKS = 3000 / TICK_MS
const CURRENT_PING_TICKS = 5000 / TICK_MS

// Bounds of the round trip that decides about window growth. Without the minimum, windows would stay at 16 KiB before the first
// Pong and on a local network. A busy peer would then get so many Adjusts that it ends the link (docs/protocol.md 2.10). Round trips
// above the maximum are caused by this side's own data queued on a slow line. Larger windows would only lengthen that queue.
const MIN_ROUND_TRIP_MS = 25
const MAX_ROUND_TRIP_MS = 1000

function requireShort(payload: Uint8Array): void {
  if (payload.length > FRAME.maxControlPayloadBytes) throw new FrameError('control payload too large')
}

function requireId(senderId: number): void {
  if (senderId === 0) throw new FrameError('channel id 0')
}

/** State of one link. Handles each frame of the peer (docs/protocol.md 2). */
export class LinkCore implements WheelEntry, ChannelHost, OpensHost, RequestsHost {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  readonly limits: LinkLimits
  readonly wheel: Wheel
  readonly outgoing: Outgoing
  end: LinkEnd | undefined = undefined
  /** Number of open channels that this side requested. */
  ownChannels = 0
  keepsUnreadData = false
  readonly #transport: Transport
  readonly #options: LinkOptions
  readonly #clock: Clock
  readonly #rates = new RateCounts()
  readonly #heartbeat: Heartbeat
  #peerAge: PeerAge = 'Unknown'
  /** Tick of the timer wheel in which the peer's Hello arrived; 0 before. */
  #helloTick = 0
  #receivedTick: number
  #pingPosition = 0
  /** Position in the output, in bytes, of the transport's unanswered probe; 0 when there is none. */
  #probePosition = 0
  /** Position in the output, in bytes, of the last Ping or probe that the peer has answered. The peer has read everything before it. */
  #takenPosition = 0
  #nextId = 1
  #channels: Map<number, ChannelCore> | undefined = undefined
  #requests: Requests | undefined = undefined
  #opens: Opens | undefined = undefined
  #tombstones: Tombstones | undefined = undefined
  /** Callbacks of executors that wait until enough queued answers were sent. */
  #waitingExecutors: (() => void)[] | undefined = undefined
  /** Tick of the timer wheel in which bytes of an answer were last sent, or in which executors began to wait. */
  #answerTick = 0
  #ended: Promise<LinkEnd> | undefined = undefined
  #resolveEnded: ((end: LinkEnd) => void) | undefined = undefined

  constructor(transport: Transport, options: LinkOptions, clock: Clock, wheel: Wheel) {
    this.limits = resolveLimits(options.limits)
    this.wheel = wheel
    this.outgoing = new Outgoing(transport, this.limits)
    this.#transport = transport
    this.#options = options
    this.#clock = clock
    if (this.isPeerNode) this.#peerAge = 'Current'
    const pingIntervalMs = options.pingIntervalMs ?? 5000
    this.#heartbeat = new Heartbeat(
      heartbeatTimes(
        pingIntervalMs,
        options.pongTimeoutMs ?? 15_000,
        this.limits.flushMs,
        options.maxPingIntervalMs ?? pingIntervalMs,
      ),
    )
    this.#receivedTick = wheel.tick
    this.outgoing.send(encodeFrame({ type: 'Hello', magic: MAGIC, info: helloInfo(options.returnWithinMs) }))
    wheel.schedule(this, this.limits.handshakeMs)
  }

  get ended(): Promise<LinkEnd> {
    this.#ended ??=
      this.end !== undefined
        ? Promise.resolve(this.end)
        : new Promise(resolve => {
            this.#resolveEnded = resolve
          })
    return this.#ended
  }

  get roundTripMs(): number | undefined {
    return this.#heartbeat.roundTripMs
  }

  get lastReceivedAt(): number {
    return this.#clock.now() - (this.wheel.tick - this.#receivedTick) * TICK_MS
  }

  get isPeerNode(): boolean {
    return this.#options.isPeerNode === true
  }

  get peerAge(): PeerAge {
    if (this.#peerAge === 'Unknown' && this.#hasHello && this.#ticksSinceHello >= CURRENT_PING_TICKS) {
      this.#peerAge = 'Current'
    }
    return this.#peerAge
  }

  get channelCount(): number {
    return this.#channels === undefined ? 0 : this.#channels.size
  }

  get takenSlots(): number {
    return this.channelCount + (this.#requests?.pending ?? 0) + (this.#opens?.inFlight ?? 0)
  }

  // Methods that the transport calls.

  receive(message: Uint8Array): void {
    if (this.end !== undefined) return
    this.#receivedTick = this.wheel.tick
    try {
      if (message[0] === TAG.channelData && this.#hasHello) this.#receiveData(message)
      else this.#receiveFrame(message)
    } catch (error) {
      if (error instanceof FrameError) this.finish({ kind: 'Violation', reason: error.message })
      else this.#bug(error)
    }
  }

  transportClosed(reason: string): void {
    this.finish({ kind: 'TransportClosed', reason })
  }

  probed(): void {
    if (this.end !== undefined || this.#probePosition === 0) return
    const position = this.#probePosition
    this.#probePosition = 0
    this.#peerRead(position)
  }

  drained(): void {
    if (this.end !== undefined) return
    this.#noteFlush()
    this.outgoing.pump()
    this.dataLeft(false)
  }

  // Methods that the application calls.

  open(endpoint: string, options: OpenOptions | undefined): Promise<Channel> {
    if (this.end !== undefined) return Promise.reject(new LinkEndedError(this.end))
    this.#opens ??= new Opens(this)
    return this.#opens.open(endpoint, options)
  }

  /** Ends the link. Sends Close first if the peer can still receive it (docs/protocol.md R-15). */
  finish(end: LinkEnd): void {
    if (this.end !== undefined) return
    this.end = end
    this.wheel.cancel(this)
    const isTooSlow = end.kind === 'ConsumerTooSlow'
    const canHear = end.kind === 'LocalClose' || end.kind === 'Violation' || isTooSlow
    this.#waitingExecutors = undefined
    // If the peer reads too slowly or can no longer receive, queued frames are dropped instead of handed to the transport.
    if (isTooSlow || !canHear) this.outgoing.stop()
    if (canHear) {
      const words = end.kind === 'Violation' ? `protocol violation: ${end.reason}` : end.reason
      const reason = encodeBoundedText(words, FRAME.maxControlPayloadBytes)
      this.outgoing.stop(encodeFrame({ type: 'Close', reason }))
    }
    this.#transport.close(!canHear && end.kind !== 'PeerClose', isTooSlow ? 1013 : 1000)
    const channels = this.#channels
    this.#channels = undefined
    this.#tombstones = undefined
    this.#requests?.linkEnded()
    this.#opens?.linkEnded(end)
    for (const channel of channels?.values() ?? []) channel.linkEnded(end)
    this.#resolveEnded?.(end)
    try {
      this.#options.onEnded?.(end)
    } catch (error) {
      this.report(error)
    }
  }

  // Methods that channels, `Requests` and `Opens` call.

  now(): number {
    return this.#clock.now()
  }

  growthHorizonMs(): number {
    const roundTripMs = this.#heartbeat.roundTripMs ?? MIN_ROUND_TRIP_MS
    return 2 * Math.min(MAX_ROUND_TRIP_MS, Math.max(MIN_ROUND_TRIP_MS, roundTripMs))
  }

  /** Number of bytes that wait to be sent; 0 after the end. */
  get queuedBytes(): number {
    return this.end === undefined ? this.outgoing.queuedBytes + this.#transport.bufferedBytes : 0
  }

  takeId(): number {
    return this.#nextId++
  }

  sendControl(frame: Uint8Array): void {
    this.outgoing.sendControl(frame)
    if (this.outgoing.isControlOverfull) this.#tooSlow('outgoing queue limit exceeded')
  }

  checkData(): void {
    if (this.outgoing.isDataOverfull) this.#tooSlow('outgoing queue limit exceeded')
  }

  mayAnswer(resume: () => void): boolean {
    if (this.end !== undefined || this.outgoing.hasRoom || this.#hasRoomForAnswers()) return true
    if (this.#waitingExecutors === undefined) {
      this.#waitingExecutors = []
      this.#answerTick = this.wheel.tick
      // The next heartbeat check may be far off. A check in the next tick of the timer wheel also schedules the deadline for
      // queued answers.
      this.wheel.scheduleTicks(this, 1)
    }
    this.#waitingExecutors.push(resume)
    return false
  }

  dataLeft(isAnswer: boolean): void {
    const waiting = this.#waitingExecutors
    if (waiting === undefined) return
    if (isAnswer) this.#answerTick = this.wheel.tick
    if (!this.#hasRoomForAnswers()) return
    this.#waitingExecutors = undefined
    for (const resume of waiting) resume()
  }

  hasPeerRead(position: number): boolean {
    if (position <= this.#takenPosition) return true
    if (this.end !== undefined) return false
    if (!this.#heartbeat.hasPinged) {
      this.#probe()
    } else if (position > this.#pingPosition) {
      this.#heartbeat.want()
      this.#check()
    }
    return false
  }

  /**
   * Sends a probe of the transport, unless one is unanswered. It takes the place of a Ping before the first one: other releases of this
   * package take a peer that pings in the first 3 s for a legacy peer.
   */
  #probe(): void {
    if (this.#probePosition > 0 || this.#transport.probe === undefined) return
    this.#probePosition = this.outgoing.position
    this.#transport.probe()
  }

  /** Records that the peer has read the output up to a position, and continues the ends of channels that waited for it. */
  #peerRead(position: number): void {
    this.#takenPosition = Math.max(this.#takenPosition, position)
    if (this.peerAge === 'Current') return
    for (const { output } of this.#channels?.values() ?? []) output.peerRead()
  }

  guard(channel: ChannelState, hook: () => void): void {
    try {
      hook()
    } catch (error) {
      channel.close()
      this.report(error)
    }
  }

  channelDied(channel: HostedChannel): void {
    if (this.end !== undefined) return
    this.#channels?.delete(channel.localId)
    if (channel.isOwn) this.ownChannels--
    // A peer that has ended both directions sends no late frames on this channel, so its id need not be remembered as a tombstone.
    if (!(channel.input.hasPeerEnded && channel.output.hasPeerStopped)) {
      this.#tombstones ??= new Tombstones()
      this.#tombstones.add(channel.localId, channel.input.window, this.#clock.now())
    }
    this.slotFreed()
  }

  slotFreed(): void {
    this.#opens?.pump()
  }

  acceptChannel(request: IncomingRequest): Channel {
    const localId = this.takeId()
    const ids = { localId, remoteId: request.senderId, isOwn: false }
    const core = new ChannelCore(this, request.endpoint, ids, request.frameCredit, request.byteCredit)
    if (request.isPending) {
      this.#addChannel(core)
      this.sendControl(
        encodeFrame({
          type: 'ChannelAccept',
          receiverId: request.senderId,
          senderId: localId,
          frameCredit: FRAME.initialFrameCredit,
          byteCredit: FRAME.initialByteCredit,
        }),
      )
    } else {
      core.linkEnded(this.end ?? { kind: 'LocalClose', reason: 'the request timed out' })
    }
    return new Channel(core)
  }

  adoptChannel(endpoint: string, localId: number, accepted: AcceptedChannel): Channel {
    const ids = { localId, remoteId: accepted.senderId, isOwn: true }
    const core = new ChannelCore(this, endpoint, ids, accepted.frameCredit, accepted.byteCredit)
    this.ownChannels++
    this.#addChannel(core)
    return new Channel(core)
  }

  report(error: unknown): void {
    try {
      this.#options.onError?.(error)
    } catch {
      // If the error hook itself throws, there is nowhere else to report the error.
    }
  }

  /** Ends the link if the peer's Hello is overdue. After the Hello: checks the wait for queued answers and the heartbeat. */
  onDeadline(): void {
    if (!this.#hasHello) {
      this.finish({ kind: 'Timeout', reason: 'no Hello' })
      return
    }
    if (this.#tombstones?.isStale(this.#clock.now())) this.#tombstones = undefined
    if (this.#stalledTicks >= this.#maxStallTicks) {
      this.#tooSlow('the peer takes no answers')
      return
    }
    this.#check()
  }

  /** Performs the next step of the heartbeat. */
  #check(): void {
    const tick = this.wheel.tick
    const now = this.#clock.now()
    const step = this.#heartbeat.check(
      tick,
      now,
      this.#receivedTick,
      this.outgoing.isPast(this.#pingPosition),
    )
    switch (step) {
      case 'NoPong':
        this.finish({ kind: 'Timeout', reason: 'no Pong' })
        return
      case 'NotFlushed':
        this.#tooSlow('the peer takes no data')
        return
      case 'SendPing':
        this.outgoing.send(PING)
        this.#pingPosition = this.outgoing.position
        this.#noteFlush()
        break
      case 'Wait':
        break
    }
    this.#scheduleCheck()
  }

  #scheduleCheck(): void {
    let next = this.#heartbeat.nextCheck(this.wheel.tick, this.#receivedTick)
    if (this.#waitingExecutors) next = Math.min(next, this.#maxStallTicks - this.#stalledTicks)
    this.wheel.scheduleTicks(this, next)
  }

  /**
   * Time for which executors have waited for queued answers without any byte of an answer being sent, in ticks of the timer
   * wheel.
   */
  get #stalledTicks(): number {
    return this.#waitingExecutors === undefined ? 0 : this.wheel.tick - this.#answerTick
  }

  get #hasHello(): boolean {
    return this.#helloTick > 0
  }

  get #ticksSinceHello(): number {
    return this.wheel.tick - this.#helloTick
  }

  get #maxStallTicks(): number {
    return Math.max(1, Math.ceil(this.limits.flushMs / TICK_MS))
  }

  #noteFlush(): void {
    if (this.#heartbeat.isUnflushed && this.outgoing.isPast(this.#pingPosition)) {
      this.#heartbeat.flushed(this.wheel.tick)
    }
  }

  // Handling of the peer's frames. A FrameError thrown here ends the link.

  #receiveFrame(message: Uint8Array): void {
    if (message.length > this.limits.maxFrameBytes) throw new FrameError('frame too large')
    if (!this.#hasHello) {
      this.#receiveHello(message)
      return
    }
    const rates = this.#rates
    rates.roll(this.wheel.tick)
    switch (message[0]) {
      case TAG.channelData:
        this.#receiveData(message)
        break
      case TAG.channelAdjust:
        this.#receiveAdjust(message)
        break
      case TAG.ping:
        if (++rates.pings > this.limits.pingsPerSecond) throw new FrameError('too many pings')
        this.#countControl()
        if (this.#peerAge === 'Unknown') {
          this.#peerAge = this.#ticksSinceHello <= LEGACY_PING_TICKS ? 'Legacy' : 'Current'
        }
        this.#heartbeat.peerPinged()
        this.outgoing.send(PONG)
        break
      case TAG.pong:
        this.#countControl()
        if (!this.#heartbeat.pong(this.#clock.now())) throw new FrameError('pong without ping')
        this.#scheduleCheck()
        this.#peerRead(this.#pingPosition)
        break
      default:
        this.#receiveOther(decodeFrame(message))
    }
  }

  #receiveHello(message: Uint8Array): void {
    const frame = decodeFrame(message)
    if (frame.type !== 'Hello') throw new FrameError('the first frame is no Hello')
    requireShort(frame.info)
    if (!frame.magic.every((byte, index) => byte === MAGIC[index])) {
      throw new FrameError('wrong protocol magic')
    }
    this.#helloTick = this.wheel.tick
    if (hasOwnMark(frame.info)) this.#peerAge = 'Current'
    const returnMs = this.#options.onReturnBound && returnWithinMsOf(frame.info)
    if (returnMs !== undefined) this.#options.onReturnBound?.(returnMs)
    this.wheel.scheduleTicks(this, this.#heartbeat.begin(this.#helloTick))
  }

  #receiveData(message: Uint8Array): void {
    const length = message.length - FRAME.dataHeaderBytes
    if (length < 0) throw new FrameError('frame too short')
    if (message.length > this.limits.maxFrameBytes) throw new FrameError('frame too large')
    const localId = readId(message, 1)
    const channel = this.#channels?.get(localId)
    if (channel === undefined) this.#judgeLate(this.#tombstones?.data(localId, length) ?? 'Unknown')
    else if (!channel.input.receiveData(message)) throw new FrameError('credit exceeded')
  }

  #receiveAdjust(message: Uint8Array): void {
    if (message.length < 17) throw new FrameError('frame too short')
    const localId = readId(message, 1)
    const channel = this.#channels?.get(localId)
    // An Adjust in reaction to data does not count as a control frame. The amount of data that this side sends bounds their number.
    if (channel === undefined || !channel.output.hasSentSinceAdjust) this.#countControl()
    if (channel === undefined) this.#judgeLate(this.#tombstones?.control(localId) ?? 'Unknown')
    // `receiveAdjust` accepts an Adjust of 0/0, which adds no credit, because legacy peers may send it.
    else if (!channel.output.receiveAdjust(readU32(message, 9), readU32(message, 13))) {
      throw new FrameError('credit overflow')
    }
  }

  #receiveOther(frame: Frame): void {
    this.#countControl()
    switch (frame.type) {
      case 'ChannelRequest':
        if (++this.#rates.requests > this.limits.requestsPerSecond) {
          throw new FrameError('too many channel requests')
        }
        requireId(frame.senderId)
        this.#requests ??= new Requests(this, this.#options)
        this.#requests.receive(frame)
        break
      case 'ChannelAccept':
        requireId(frame.senderId)
        if (!this.#opens?.accepted(frame.receiverId, frame)) throw new FrameError('accept without request')
        break
      case 'ChannelReject':
        requireShort(frame.reason)
        if (!this.#opens?.rejected(frame.receiverId, decodeLossyText(frame.reason))) {
          throw new FrameError('reject without request')
        }
        break
      case 'ChannelClose':
      case 'ChannelClosed': {
        requireShort(frame.reason)
        const channel = this.#channels?.get(frame.receiverId)
        if (channel === undefined) this.#judgeLate(this.#tombstones?.control(frame.receiverId) ?? 'Unknown')
        else if (frame.type === 'ChannelClose') channel.receiveStop()
        else channel.receiveEnd(frame.reason)
        break
      }
      case 'Close':
        requireShort(frame.reason)
        this.finish({ kind: 'PeerClose', reason: decodeLossyText(frame.reason) })
        break
      default:
        throw new FrameError('second Hello')
    }
  }

  #judgeLate(frame: LateFrame): void {
    if (frame === 'Known') return
    if (frame === 'OverCredit') throw new FrameError('late data exceeds credit')
    this.#rates.roll(this.wheel.tick)
    if (++this.#rates.unknown > this.limits.unknownFramesPerSecond) {
      throw new FrameError('too many frames for unknown channels')
    }
  }

  #countControl(): void {
    if (++this.#rates.control > this.limits.controlFramesPerSecond) {
      throw new FrameError('too many control frames')
    }
  }

  #addChannel(channel: ChannelCore): void {
    this.#channels ??= new Map()
    this.#channels.set(channel.localId, channel)
  }

  /**
   * True while fewer bytes of answers are queued than `linkHighWaterBytes`. Queued data of TCP forwards does not count, because
   * a slow forward must not block actions.
   */
  #hasRoomForAnswers(): boolean {
    let waitingBytes = 0
    for (const { output } of this.#channels?.values() ?? [])
      if (output.isAnswers) waitingBytes += output.queuedBytes
    return waitingBytes < this.limits.linkHighWaterBytes
  }

  #tooSlow(reason: string): void {
    this.finish({ kind: 'ConsumerTooSlow', reason })
  }

  /** Handles an unexpected error of this package. It ends only this link, not the process. */
  #bug(error: unknown): void {
    this.report(error)
    this.finish({ kind: 'LocalClose', reason: 'internal error' })
  }
}
