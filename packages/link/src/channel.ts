import type { ChannelCore } from './channel-core.ts'

let readCore: (channel: Channel) => ChannelCore

/**
 * One end of a channel: a byte stream in each direction, each with its own end (protocol 2.6, 2.7). The
 * `on…` hooks are called synchronously while frames are handled; one that throws closes the channel.
 */
export class Channel {
  readonly #core: ChannelCore

  static {
    readCore = channel => channel.#core
  }

  constructor(core: ChannelCore) {
    this.#core = core
  }

  /** What was asked for when the channel was opened. */
  get endpoint(): string {
    return this.#core.endpoint
  }

  /**
   * The next bytes, in pieces of any size, or null at the end of the peer's data and after stopReading() or
   * close(). Rejects with LinkEndedError when the link ended before the peer's data did, after everything
   * received was delivered. One read at a time.
   */
  read(): Promise<Uint8Array | null> {
    return this.#core.input.read()
  }

  /**
   * Like read() without a promise: undefined when there is nothing now, null when there will be nothing
   * more; `isTruncated` then tells whether the link broke off the peer's data.
   */
  tryRead(): Uint8Array | null | undefined {
    return this.#core.input.tryRead()
  }

  /** True when the link ended before the peer's data did, so that what was read is not all of it. */
  get isTruncated(): boolean {
    return this.#core.input.isTruncated
  }

  /**
   * Called when bytes arrived or the data ended; read with tryRead() until it gives undefined or null.
   * Whoever sets it reads once at first, since it is not called for what is there already.
   */
  get onReadable(): (() => void) | undefined {
    return this.#core.input.onReadable
  }

  set onReadable(hook: (() => void) | undefined) {
    this.#core.input.onReadable = hook
  }

  /**
   * Queues bytes for the peer, in order; the array belongs to the channel from then on. Resolves when there
   * is room for more; rejects with ChannelClosedError when the data cannot be delivered: the channel was
   * ended or closed here, the peer reads no more, or the link ended.
   */
  write(bytes: Uint8Array): Promise<void> {
    return this.#core.output.write(bytes)
  }

  /**
   * Like write() without a promise. The bytes are queued in any case unless `canWrite` is false; false says
   * that no more should follow until `onWritable` is called. When it goes on nevertheless and more than
   * `maxQueuedBytes` wait on the link, the link ends as ConsumerTooSlow.
   */
  tryWrite(bytes: Uint8Array): boolean {
    return this.#core.output.tryWrite(bytes)
  }

  /** Called when there is room after tryWrite() returned false, and when writing came to an end from outside. */
  get onWritable(): (() => void) | undefined {
    return this.#core.output.onWritable
  }

  set onWritable(hook: (() => void) | undefined) {
    this.#core.output.onWritable = hook
  }

  /** False once nothing more can be written. */
  get canWrite(): boolean {
    return this.#core.output.canWrite
  }

  /** Bytes written that still wait for credit or for the transport. */
  get queuedBytes(): number {
    return this.#core.output.queuedBytes
  }

  /** True once the peer reads no more; public peers say so only when they drop the whole channel. */
  get hasPeerStopped(): boolean {
    return this.#core.output.hasPeerStopped
  }

  /** Called once when the peer reads no more. Data that it sent before can still be read. */
  get onPeerStopped(): (() => void) | undefined {
    return this.#core.onPeerStopped
  }

  set onPeerStopped(hook: (() => void) | undefined) {
    this.#core.onPeerStopped = hook
  }

  /**
   * Ends our data once everything queued has left. Towards old peers, which throw away unread data at its
   * end, the end keeps a distance of a few hundred milliseconds to the data.
   */
  end(): void {
    this.#core.output.end()
  }

  /** Tells the peer that nothing more will be read, and drops what was not read. */
  stopReading(): void {
    this.#core.input.stop()
  }

  /** Ends both directions at once; what is queued or unread is dropped. */
  close(): void {
    this.#core.close()
  }

  /** Resolves when both directions are over on this side, or the link ended. */
  get closed(): Promise<void> {
    return this.#core.closed
  }

  /** Reads to the end of the peer's data; leaving the loop early stops reading. Throws what read() throws. */
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

/** The core of a channel, for the parts of this package that sit on top of channels. */
export function coreOf(channel: Channel): ChannelCore {
  return readCore(channel)
}
