type Entry = { atMs: number; callback: (() => void) | undefined }

type ScheduleOptions = {
  now?: () => number
  /** Calls `callback` once after about `ms` milliseconds. Returns a function that cancels the call. */
  after?: (ms: number, callback: () => void) => () => void
}

/** Shortest delay of the timer, so that one wake-up can serve many devices. */
const RESOLUTION_MS = 20
const MAX_DELAY_MS = 60_000

/** Runs many scheduled callbacks with a single timer. */
export class Schedule {
  readonly #now: () => number
  readonly #after: NonNullable<ScheduleOptions['after']>
  // A binary heap with the earliest entry first.
  readonly #heap: Entry[] = []
  #timer: { atMs: number; cancel: () => void } | undefined

  constructor({ now = Date.now, after = timeout }: ScheduleOptions = {}) {
    this.#now = now
    this.#after = after
  }

  /** Calls `callback` at the time `atMs`, or soon if that time has passed. Returns a function that cancels the call. */
  at(atMs: number, callback: () => void): () => void {
    const entry: Entry = { atMs, callback }
    this.#push(entry)
    this.#arm()
    return () => {
      entry.callback = undefined
    }
  }

  /** Cancels all callbacks. */
  clear(): void {
    this.#heap.length = 0
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(): void {
    const first = this.#heap[0]
    if (!first || (this.#timer && this.#timer.atMs <= first.atMs)) return
    this.#timer?.cancel()
    const delayMs = Math.min(MAX_DELAY_MS, Math.max(RESOLUTION_MS, first.atMs - this.#now()))
    this.#timer = { atMs: first.atMs, cancel: this.#after(delayMs, () => this.#run()) }
  }

  #run(): void {
    this.#timer = undefined
    const now = this.#now()
    for (let first = this.#heap[0]; first && first.atMs <= now; first = this.#heap[0]) {
      this.#pop()
      first.callback?.()
    }
    this.#arm()
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let at = heap.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent]!.atMs <= entry.atMs) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child + 1 < heap.length && heap[child + 1]!.atMs < heap[child]!.atMs) child++
      if (child >= heap.length || heap[child]!.atMs >= last.atMs) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

function timeout(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
