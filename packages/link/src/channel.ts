import type { ChannelCore } from './channel-core.ts'

let readCore: (channel: Channel) => ChannelCore

/**
 * A channel on this side of a link: a byte stream in each direction, and each direction ends separately (docs/protocol.md 2.6, 2.7).
 * The `on…` hooks are called synchronously while frames are handled. If a hook throws, the channel is closed.
 */
export class Channel {
  readonly #core: ChannelCore

  static {
    readCore = channel => channel.#core
  }

  constructor(core: ChannelCore) {
    this.#core = core
  }

  /** Endpoint for which the channel was requested, for example `executor`. */
  get endpoint(): string {
    return this.#core.endpoint
  }

  /**
   * Resolves to the next bytes, in pieces of any size, or to null at the end of the peer's data and after stopReading()
   * or close(). If the link ended before the peer's data did, rejects with LinkEndedError after all received bytes were
   * delivered. If another node aborted the channel, rejects with ChannelClosedError. Only one read may be pending.
   */
  read(): Promise<Uint8Array | null> {
    return this.#core.input.read()
  }

  /**
   * Like read() without a promise: undefined when nothing has arrived yet, null when nothing more will come. After
   * null, `isTruncated` is true if the peer's data is incomplete.
   */
  tryRead(): Uint8Array | null | undefined {
    return this.#core.input.tryRead()
  }

  /** True when the link ended, or another node aborted the channel, before the peer's data ended: the bytes read are incomplete. */
  get isTruncated(): boolean {
    return this.#core.input.isTruncated
  }

  /**
   * Called when bytes arrived or the data ended. Read with tryRead() until it returns undefined or null. Read once right
   * after setting the hook, because it is not called for data that arrived earlier.
   */
  get onReadable(): (() => void) | undefined {
    return this.#core.input.onReadable
  }

  set onReadable(hook: (() => void) | undefined) {
    this.#core.input.onReadable = hook
  }

  /**
   * Queues bytes for the peer. The array belongs to the channel from then on. Resolves when the channel accepts more bytes. Rejects
   * with ChannelClosedError when the data cannot be delivered: the channel was ended or closed here, the peer stopped reading, or the
   * link ended.
   */
  write(bytes: Uint8Array): Promise<void> {
    return this.#core.output.write(bytes)
  }

  /**
   * Like write() without a promise. The bytes are queued unless `canWrite` is false. Returns false when the caller should not write
   * again until `onWritable` is called. If it writes nevertheless and more than `maxQueuedBytes` are queued on the link, the link ends
   * as ConsumerTooSlow.
   */
  tryWrite(bytes: Uint8Array): boolean {
    return this.#core.output.tryWrite(bytes)
  }

  /** Called when the channel accepts bytes again after tryWrite() returned false, and when the peer stops reading or the link ends. */
  get onWritable(): (() => void) | undefined {
    return this.#core.output.onWritable
  }

  set onWritable(hook: (() => void) | undefined) {
    this.#core.output.onWritable = hook
  }

  /** False once writing is no longer possible. */
  get canWrite(): boolean {
    return this.#core.output.canWrite
  }

  /** Number of written bytes that still wait for credit or for the transport. */
  get queuedBytes(): number {
    return this.#core.output.queuedBytes
  }

  /** True once the peer has stopped reading. For a legacy peer it is the only sign of a dropped channel (docs/protocol.md R-13). */
  get hasPeerStopped(): boolean {
    return this.#core.output.hasPeerStopped
  }

  /** Called once when the peer stops reading. Data that the peer sent before can still be read. */
  get onPeerStopped(): (() => void) | undefined {
    return this.#core.onPeerStopped
  }

  set onPeerStopped(hook: (() => void) | undefined) {
    this.#core.onPeerStopped = hook
  }

  /**
   * Ends this side's data once all queued bytes were sent. Legacy peers discard unread data when the end arrives, so for them
   * the end is delayed by a few hundred milliseconds (docs/protocol.md R-12).
   */
  end(): void {
    this.#core.output.end()
  }

  /** Resolves when the end of this side's data was sent to the peer, or the link ended. */
  get endSent(): Promise<void> {
    return this.#core.output.endSent
  }

  /** Drops unread bytes and sends ChannelClose, which informs the peer that this side has stopped reading. */
  stopReading(): void {
    this.#core.input.stop()
  }

  /** Ends both directions immediately. Queued and unread bytes are dropped. */
  close(): void {
    this.#core.close()
  }

  /**
   * Ends both directions immediately after a failure. Stops reading first, so that a device or a command-line client does not see a
   * regular end of the data. At another node (`isPeerNode`), reads reject.
   */
  abort(): void {
    this.#core.abort()
  }

  /** Resolves when both directions have ended on this side, or the link ended. */
  get closed(): Promise<void> {
    return this.#core.closed
  }

  /** Yields the peer's data until its end. Leaving the loop early stops reading. Throws LinkEndedError like read(). */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const bytes = await this.#core.input.read()
        if (bytes === null) return
        yield bytes
      }
    } finally {
      this.#core.input.stop()
    }
  }
}

/** Returns the internal state of a channel, for modules of this package that are built on channels. */
export function coreOf(channel: Channel): ChannelCore {
  return readCore(channel)
}
