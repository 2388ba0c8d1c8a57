import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'

/** Limit of queued log lines in bytes. Further lines are dropped and counted. */
const MAX_QUEUED_BYTES = 1024 * 1024
/** Largest write in bytes: the capacity of a pipe on Linux. */
const MAX_WRITE_BYTES = 64 * 1024
/** Pause before the next write to a full pipe, in milliseconds. */
const RETRY_MS = 20
/**
 * Time for which a synchronous flush waits for a reader, in milliseconds. At exit, lines that are still queued after this time are
 * lost.
 */
const SYNC_TIMEOUT_MS = 1_000
const LINE_BREAK = 10

const sleeper = new Int32Array(new SharedArrayBuffer(4))

/**
 * Standard output or standard error. Log lines are queued and written without blocking the event loop, and the queue is bounded.
 * Lines that cannot be written are lost (a file on a full disk, a pipe that is not read). Such a descriptor must neither end nor
 * block the hub.
 *
 * pino's own destination (SonicBoom) is not used, because its flush at exit retries for ever on any error. A hub whose standard
 * error is on a full disk would not exit.
 */
export class Output {
  readonly #fd: number
  readonly #isNonBlocking: boolean
  #queue: Buffer[] = []
  #queuedBytes = 0
  #isWriting = false
  /** True if the last byte written did not end a line. */
  #isInLine = false
  /** True if the rest of a partly written line was lost. The next write begins with a line break. */
  #isCut = false
  /** True if the last write failed for another reason than a full pipe. */
  #hasFailed = false
  /** True if the last synchronous flush ran into its timeout. */
  #isStuck = false
  #droppedLines = 0

  constructor(fd: number) {
    const pipe = openNonBlocking(fd)
    this.#fd = pipe ?? fd
    this.#isNonBlocking = pipe !== undefined
    process.on('exit', () => this.#flush())
  }

  /**
   * Queues a log line without waiting. When the queue is full, the line is dropped; a later line reports the number of dropped
   * lines.
   */
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

  /** Writes all queued lines and then a text, synchronously. Waits up to 1 s for a slow reader. */
  writeNow(text: string): void {
    this.#push(Buffer.from(text))
    this.#flush()
    if (!this.#isWriting) this.#writeNext()
  }

  #push(bytes: Buffer): void {
    this.#queue.push(bytes)
    this.#queuedBytes += bytes.length
  }

  /** Removes the next chunk from the queue: up to `MAX_WRITE_BYTES`, but at least one line. */
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

  /** Puts the unwritten rest of a chunk back to the front of the queue. */
  #putBack(rest: Buffer): void {
    if (rest.length === 0) return
    this.#queue.unshift(rest)
    this.#queuedBytes += rest.length
  }

  #writeNext(): void {
    if (this.#queue.length === 0) return
    this.#isWriting = true
    const chunk = this.#take()
    // A write to a non-blocking pipe only copies memory. A write to a file, terminal or socket may block, so it runs in the
    // thread pool.
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
      // An exiting process does not wait for the timer; the `exit` handler flushes the queue.
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

  /** Records the written part of a chunk and requeues the unwritten part. */
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
    // Gives a write in the thread pool time to finish, so that the order of lines is kept.
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
 * Opens a pipe a second time with O_NONBLOCK. The flag belongs to the new file description, so it does not affect other
 * processes that share the pipe. Returns undefined for other kinds of files, for a pipe of another account, and without /proc.
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

/** The `Output` of standard output (1) or standard error (2). */
export function output(fd: 1 | 2): Output {
  outputs[fd] ??= new Output(fd)
  return outputs[fd]
}
