/** Limits of a `FairLimiter`. An absent field means no limit. */
export type FairLimiterOptions = {
  /** Number of tasks that may run concurrently. */
  max: number
  /** Number of tasks of one owner that may run concurrently, or a function that returns it for an owner. */
  maxPerOwner?: number | ((owner: string) => number)
  /**
   * Share, between 0 and 1, of the tasks that all other owners leave free. While others run tasks, an owner runs at most this share of
   * them, and always one. So a few owners never use up `max`.
   */
  maxShareOfFree?: number
  /** Number of tasks that may wait; further tasks are rejected immediately. With 0, every task that would wait is rejected. */
  maxWaiting?: number
  /** Number of tasks of one owner that may wait; its further tasks are rejected immediately. */
  maxWaitingPerOwner?: number
  /** Longest wait of a task in milliseconds. */
  waitMs?: number
  /** Closes the limiter when it aborts: waiting and later tasks are rejected with its reason. Running tasks continue. */
  signal?: AbortSignal
}

/** Owner of a task, and a signal that removes the task from the queue while it waits. */
export type TaskOptions = { owner?: string; signal?: AbortSignal | undefined }

/** A permit to run one task. Releasing it twice is harmless. */
export type Permit = Disposable & { release(): void }

/** Reason of a rejection: the queue was full, or the task waited longer than `waitMs`. */
export type LimiterReason = 'full' | 'timeout'

/** Error of a task that was rejected before it began, because of `maxWaiting`, `maxWaitingPerOwner` or `waitMs`. */
export class LimiterRejection extends Error {
  override name = 'LimiterRejection'
  readonly reason: LimiterReason

  constructor(reason: LimiterReason) {
    super(reason === 'full' ? 'Too many tasks wait already.' : 'The task waited too long.')
    this.reason = reason
  }
}

type Waiter = {
  owner: string
  deadlineMs: number
  begin: (permit: Permit) => void
  reject: (error: unknown) => void
}

/**
 * Runs tasks with a global and a per-owner limit: round-robin between owners, first come first served inside an owner. Without
 * owners it is a plain queue. Deadlines use the monotonic clock, so a change of the system clock does not move them.
 */
export class FairLimiter {
  #max: number
  #maxWaiting: number
  readonly #maxPerOwner: (owner: string) => number
  readonly #maxShareOfFree: number
  readonly #maxWaitingPerOwner: number
  readonly #waitMs: number
  readonly #signal: AbortSignal | undefined
  #running = 0
  readonly #runningByOwner = new Map<string, number>()
  /** All waiting tasks, oldest first. All have the same `waitMs`, so this is also the order of their deadlines. */
  readonly #queue = new Set<Waiter>()
  /** All waiting tasks by owner, in round-robin order: the owner whose task began last is at the end. */
  readonly #queueByOwner = new Map<string, Set<Waiter>>()
  /**
   * Timer for the deadline of the oldest waiting task. Tens of thousands of devices may wait, and a timer for each would cost
   * too much.
   */
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: FairLimiterOptions) {
    this.#max = options.max
    const { maxPerOwner = Number.POSITIVE_INFINITY } = options
    this.#maxPerOwner = typeof maxPerOwner === 'number' ? () => maxPerOwner : maxPerOwner
    this.#maxShareOfFree = options.maxShareOfFree ?? 1
    this.#maxWaiting = options.maxWaiting ?? Number.POSITIVE_INFINITY
    this.#maxWaitingPerOwner = options.maxWaitingPerOwner ?? Number.POSITIVE_INFINITY
    this.#waitMs = options.waitMs ?? Number.POSITIVE_INFINITY
    this.#signal = options.signal
    options.signal?.addEventListener('abort', () => this.#rejectAll(options.signal!.reason), { once: true })
  }

  /** Number of tasks that wait. */
  get waitingCount(): number {
    return this.#queue.size
  }

  /** True when the queue is full: a task that cannot begin immediately is rejected. */
  get isFull(): boolean {
    return this.#queue.size >= this.#maxWaiting
  }

  /** Number of tasks of an owner that run. */
  runningOf(owner: string): number {
    return this.#runningByOwner.get(owner) ?? 0
  }

  /** Number of tasks of an owner that run or wait. */
  countOf(owner: string): number {
    return this.runningOf(owner) + (this.#queueByOwner.get(owner)?.size ?? 0)
  }

  /**
   * Runs a task as soon as the limits allow it. Rejects with `LimiterRejection`, or with the reason of a signal that aborted
   * first.
   */
  async run<Result>(task: () => Promise<Result>, options?: TaskOptions): Promise<Result> {
    const permit = await this.enter(options)
    // `using` would fail: some supported browsers lack `Symbol.dispose` (Chrome below 134, Firefox below 141, Safari).
    try {
      return await task()
    } finally {
      permit.release()
    }
  }

  /**
   * Waits until the limits allow one more task and resolves to its permit, which the caller must release. Rejects with
   * `LimiterRejection`, or with the reason of a signal that aborted first.
   */
  async enter({ owner = '', signal }: TaskOptions = {}): Promise<Permit> {
    this.#signal?.throwIfAborted()
    signal?.throwIfAborted()
    if (this.#hasRoomFor(owner)) return this.#permitFor(owner)
    const ownWaiting = this.#queueByOwner.get(owner)?.size ?? 0
    if (this.isFull || ownWaiting >= this.#maxWaitingPerOwner) throw new LimiterRejection('full')
    const { promise, resolve, reject } = Promise.withResolvers<Permit>()
    const waiter = { owner, deadlineMs: performance.now() + this.#waitMs, begin: resolve, reject }
    this.#add(waiter)
    if (!signal) return promise
    const abort = (): void => {
      this.#remove(waiter)
      reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    return promise.finally(() => signal.removeEventListener('abort', abort))
  }

  /** Changes limits while tasks run and wait. Tasks beyond a smaller `maxWaiting` are rejected as `full`, newest first. */
  setLimits({ max, maxWaiting }: { max: number; maxWaiting: number }): void {
    this.#max = max
    this.#maxWaiting = maxWaiting
    for (const waiter of [...this.#queue].slice(maxWaiting)) {
      this.#remove(waiter)
      waiter.reject(new LimiterRejection('full'))
    }
    this.#beginWaiting()
  }

  /** Number of tasks that an owner may run at this moment, whatever it runs already. */
  maxOf(owner: string): number {
    const own = this.runningOf(owner)
    const max = this.#maxPerOwner(owner)
    const others = this.#running - own
    if (others === 0) return max
    return Math.min(max, Math.max(1, Math.floor(this.#maxShareOfFree * (this.#max - others))))
  }

  #hasRoomFor(owner: string): boolean {
    return this.#running < this.#max && this.runningOf(owner) < this.maxOf(owner)
  }

  #permitFor(owner: string): Permit {
    this.#count(owner, 1)
    let isReleased = false
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      this.#count(owner, -1)
      this.#beginWaiting()
    }
    return { release, [Symbol.dispose]: release }
  }

  #count(owner: string, change: 1 | -1): void {
    this.#running += change
    const running = this.runningOf(owner) + change
    if (running === 0) this.#runningByOwner.delete(owner)
    else this.#runningByOwner.set(owner, running)
  }

  #beginWaiting(): void {
    this.#rejectExpired()
    while (this.#running < this.#max) {
      const next = this.#next()
      if (!next) return
      this.#remove(next)
      const queue = this.#queueByOwner.get(next.owner)
      if (queue) {
        this.#queueByOwner.delete(next.owner)
        this.#queueByOwner.set(next.owner, queue)
      }
      // `#permitFor` counts the permit before the waiting task continues. Otherwise a new task could take the permit first.
      next.begin(this.#permitFor(next.owner))
    }
  }

  #next(): Waiter | undefined {
    for (const [owner, queue] of this.#queueByOwner) {
      if (this.#hasRoomFor(owner)) return queue.values().next().value
    }
    return undefined
  }

  #add(waiter: Waiter): void {
    this.#queue.add(waiter)
    const ownerQueue = this.#queueByOwner.get(waiter.owner) ?? new Set()
    this.#queueByOwner.set(waiter.owner, ownerQueue.add(waiter))
    this.#startTimer()
  }

  #remove(waiter: Waiter): void {
    this.#queue.delete(waiter)
    const ownerQueue = this.#queueByOwner.get(waiter.owner)
    if (ownerQueue?.delete(waiter) && ownerQueue.size === 0) this.#queueByOwner.delete(waiter.owner)
    if (this.#queue.size > 0) return
    // A pending timer would keep the process alive.
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #startTimer(): void {
    const [oldest] = this.#queue
    if (this.#timer !== undefined || !oldest || oldest.deadlineMs === Number.POSITIVE_INFINITY) return
    // The delay is rounded up, because timers count whole milliseconds and an early timer would have to be set again.
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.#rejectExpired()
        this.#startTimer()
      },
      Math.max(0, Math.ceil(oldest.deadlineMs - performance.now())),
    )
  }

  #rejectExpired(): void {
    const nowMs = performance.now()
    for (const waiter of this.#queue) {
      if (waiter.deadlineMs > nowMs) return
      this.#remove(waiter)
      waiter.reject(new LimiterRejection('timeout'))
    }
  }

  #rejectAll(reason: unknown): void {
    for (const waiter of this.#queue) {
      this.#remove(waiter)
      waiter.reject(reason)
    }
  }
}
