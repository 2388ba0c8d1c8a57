import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'

/** Bytes of log lines that wait for a slow reader; further lines are dropped and counted. */
const MAX_QUEUED_BYTES = 1024 * 1024
/** Largest write, in bytes: what an empty pipe of Linux takes. */
const MAX_WRITE_BYTES = 64 * 1024
/** Pause before a full pipe is tried again, in milliseconds. */
const RETRY_MS = 20
/** Time for which a synchronous write waits for a reader, in milliseconds; the rest is lost. */
const SYNC_TIMEOUT_MS = 1_000
const LINE_BREAK = 10

const sleeper = new Int32Array(new SharedArrayBuffer(4))

/**
 * Standard output or standard error. Log lines are queued and written without blocking the event loop, and the queue is bounded. What
 * the descriptor does not take (a file on a full disk, a pipe that is not read) is lost: it must neither end the hub nor block it.
 *
 * pino's own destination (SonicBoom) is not used because its flush at exit retries for ever, whatever the error is: a hub whose
 * standard error is on a full disk would not end.
 */
export class Output {
  readonly #fd: number
  readonly #isNonBlocking: boolean
  #queue: Buffer[] = []
  #queuedBytes = 0
  #isWriting = false
  /** The last byte written was not the end of a line. */
  #isInLine = false
  /** The rest of a line that was begun is lost, so a line break has to come first. */
  #isCut = false
  /** The last write failed, and not because a pipe was full. */
  #hasFailed = false
  /** The last synchronous write ran into its timeout. */
  #isStuck = false
  #droppedLines = 0

  constructor(fd: number) {
    const pipe = openNonBlocking(fd)
    this.#fd = pipe ?? fd
    this.#isNonBlocking = pipe !== undefined
    process.on('exit', () => this.#flush())
  }

  /** Queues a log line. Never waits; a line that does not fit any more is dropped, and a later line tells how many were. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#queuedBytes + bytes.length > MAX_QUEUED_BYTES) {
      this.#droppedLines++
      return
    }
    if (!this.#hasFailed) this.#reportDropped()
    this.#push(bytes)
    if (!this.#isWriting) this.#writeNext()
  }

  /** Writes a text behind all queued lines before it returns. Waits for a slow reader, but not longer than a second. */
  writeNow(text: string): void {
    this.#push(Buffer.from(text))
    this.#flush()
    if (!this.#isWriting) this.#writeNext()
  }

  #push(bytes: Buffer): void {
    this.#queue.push(bytes)
    this.#queuedBytes += bytes.length
  }

  /** Takes up to one write of what is queued. */
  #take(): Buffer {
    if (this.#isCut) {
      this.#isCut = false
      this.#queue.unshift(Buffer.from('\n'))
      this.#queuedBytes++
    }
    let length = 0
    let count = 0
    while (
      count < this.#queue.length &&
      (count === 0 || length + this.#queue[count]!.length <= MAX_WRITE_BYTES)
    )
      length += this.#queue[count++]!.length
    this.#queuedBytes -= length
    return Buffer.concat(this.#queue.splice(0, count), length)
  }

  /** Puts the rest of a write back to the front. */
  #putBack(rest: Buffer): void {
    if (rest.length === 0) return
    this.#queue.unshift(rest)
    this.#queuedBytes += rest.length
  }

  #writeNext(): void {
    if (this.#queue.length === 0) return
    this.#isWriting = true
    const chunk = this.#take()
    // A write into a pipe that does not block is a copy of memory. Files, terminals and sockets may block, so a thread writes there.
    if (!this.#isNonBlocking) {
      write(this.#fd, chunk, (error, written) => this.#written(chunk, error, written))
      return
    }
    try {
      this.#written(chunk, null, writeSync(this.#fd, chunk))
    } catch (error) {
      this.#written(chunk, error as NodeJS.ErrnoException, 0)
    }
  }

  #written(chunk: Buffer, error: NodeJS.ErrnoException | null, written: number): void {
    this.#isWriting = false
    if (error?.code === 'EAGAIN') {
      this.#putBack(chunk)
      this.#isWriting = true
      // A hub that ends does not wait for the timer: `exit` flushes what is left.
      setTimeout(() => {
        this.#isWriting = false
        this.#writeNext()
      }, RETRY_MS).unref()
      return
    }
    if (error) {
      this.#lose(chunk)
      return
    }
    this.#keep(chunk, written)
    if (this.#queue.length === 0) this.#reportDropped()
    this.#writeNext()
  }

  /** Notes what was written of a chunk, and keeps the rest. */
  #keep(chunk: Buffer, written: number): void {
    this.#isStuck = false
    this.#hasFailed = false
    if (written > 0) this.#isInLine = chunk[written - 1] !== LINE_BREAK
    this.#putBack(chunk.subarray(written))
  }

  #lose(chunk: Buffer): void {
    this.#hasFailed = true
    this.#isCut ||= this.#isInLine
    this.#isInLine = false
    for (const byte of chunk) if (byte === LINE_BREAK) this.#droppedLines++
  }

  #reportDropped(): void {
    if (this.#droppedLines === 0) return
    const dropped = this.#droppedLines
    this.#droppedLines = 0
    const time = new Date().toISOString()
    const msg = 'log lines were dropped: their reader was too slow or their disk full'
    this.#push(Buffer.from(`${JSON.stringify({ level: 'warn', time, dropped, msg })}\n`))
  }

  #flush(): void {
    // A thread in the middle of a write comes first.
    if (this.#isWriting && !this.#isNonBlocking) Atomics.wait(sleeper, 0, 0, RETRY_MS)
    const deadline = performance.now() + (this.#isStuck ? 0 : SYNC_TIMEOUT_MS)
    while (this.#queue.length > 0) {
      const chunk = this.#take()
      try {
        const written = writeSync(this.#fd, chunk)
        this.#keep(chunk, written)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') {
          this.#lose(chunk)
          continue
        }
        this.#putBack(chunk)
        this.#isStuck = performance.now() >= deadline
        if (this.#isStuck) return
        Atomics.wait(sleeper, 0, 0, RETRY_MS)
      }
    }
  }
}

/**
 * Opens a pipe once more, so that writes do not block here and stay as they are for other processes that hold it. Nothing for anything
 * else, for a pipe of another account, and where there is no /proc.
 */
function openNonBlocking(fd: number): number | undefined {
  try {
    if (!fstatSync(fd).isFIFO()) return undefined
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}

const outputs: Partial<Record<1 | 2, Output>> = {}

/** Standard output (1) or standard error (2) of this process. */
export function output(fd: 1 | 2): Output {
  outputs[fd] ??= new Output(fd)
  return outputs[fd]
}
