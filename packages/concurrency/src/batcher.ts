/** Write function and limits of a `Batcher`. */
export type BatcherOptions<Item> = {
  /** Writes a batch; resolves when the batch is durable. Called with at least one item. */
  write: (items: Item[]) => Promise<void>
  /** Weight of an item, in the unit of the limits below, for example 1 to count items or the size in bytes. */
  weigh: (item: Item) => number
  /** Maximum weight of one batch. A single heavier item makes a batch of its own. */
  maxBatch: number
  /** Limit of the weight of all waiting items. Further items are rejected, so that a slow database does not fill the memory. */
  maxWaiting: number
  /**
   * Returns the owner of an item. Each owner gets a share of a full batch, so that an owner who sends at full speed does not
   * delay the others. Without this function, batches are filled in the order of the queue.
   */
  ownerOf?: (item: Item) => string
  /** Limit of the weight of one owner's waiting items. A single item may exceed it if no other item of its owner waits. */
  maxWaitingPerOwner?: number
  /** Limit of batches in flight. */
  parallel: number
  /**
   * Minimum time between the starts of two batches in milliseconds; a full batch does not wait. Useful where a statement costs
   * more than its rows. Default 0.
   */
  lingerMs?: number
  /** Time in milliseconds during which a batch is retried after a failure that `isRetryable` accepts. */
  retryForMs: number
  /** True for a failure that the items did not cause, such as a lost connection. The same batch may succeed later. */
  isRetryable: (error: unknown) => boolean
  /** Makes the error that rejects an item beyond `maxWaiting` or `maxWaitingPerOwner`. */
  overloaded: () => Error
  /** Called once for a batch that still fails after `retryForMs`, with the last error. */
  onGivenUp?: (error: unknown) => void
}

/**
 * When the waiting items exceed one batch, each owner first gets up to 1/8 of the batch. The rest of the batch is filled in
 * queue order.
 */
const OWNERS_PER_BATCH = 8

type Waiting<Item> = { item: Item; weight: number; settled: Settled }

/** Called once, when an item is durable, or with the error for which it was not written. Must not throw. */
export type Settled = (error?: unknown) => void

/**
 * Collects items of many callers while earlier batches are in flight and writes them as one statement. At low load an item is
 * written immediately. At high load it waits until a batch in flight ends. Each caller is answered only after its batch is durable.
 */
export class Batcher<Item> {
  readonly #options: BatcherOptions<Item>
  #waiting: Waiting<Item>[] = []
  #waitingWeight = 0
  readonly #weightByOwner = new Map<string, number>()
  #running = 0
  #isScheduled = false
  #startedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: BatcherOptions<Item>) {
    this.#options = options
  }

  /** Weight of all waiting items, without those of batches in flight. */
  get waitingWeight(): number {
    return this.#waitingWeight
  }

  /** Resolves when the item is durable. Rejects with `overloaded` when the queue is full, or with the failure of its batch. */
  add(item: Item): Promise<void> {
    return new Promise((done, failed) =>
      this.addThen(item, error => (error === undefined ? done() : failed(error))),
    )
  }

  /** Like `add`, with a callback, which costs less than a promise. */
  addThen(item: Item, settled: Settled): void {
    const weight = this.#options.weigh(item)
    if (this.#waitingWeight + weight > this.#options.maxWaiting || !this.#hasShare(item, weight)) {
      settled(this.#options.overloaded())
      return
    }
    this.#waiting.push({ item, weight, settled })
    this.#waitingWeight += weight
    this.#count(item, weight)
    this.#schedule()
  }

  #hasShare(item: Item, weight: number): boolean {
    const { ownerOf, maxWaitingPerOwner = Number.POSITIVE_INFINITY } = this.#options
    const before = ownerOf && this.#weightByOwner.get(ownerOf(item))
    return before === undefined || before + weight <= maxWaitingPerOwner
  }

  /** Adds a weight to the waiting weight of the item's owner; a negative weight subtracts. */
  #count(item: Item, weight: number): void {
    const owner = this.#options.ownerOf?.(item)
    if (owner === undefined) return
    const now = (this.#weightByOwner.get(owner) ?? 0) + weight
    if (now === 0) this.#weightByOwner.delete(owner)
    else this.#weightByOwner.set(owner, now)
  }

  /**
   * Starts the next batch after this event-loop turn, or when `lingerMs` has passed since the last start, so that more items
   * join it.
   */
  #schedule(): void {
    if (this.#isScheduled || this.#running >= this.#options.parallel || this.#waiting.length === 0) return
    this.#isScheduled = true
    const run = (): void => {
      this.#isScheduled = false
      this.#startedAtMs = performance.now()
      void this.#runNext()
    }
    const waitMs = this.#startedAtMs + (this.#options.lingerMs ?? 0) - performance.now()
    if (waitMs > 0 && this.#waitingWeight < this.#options.maxBatch) setTimeout(run, waitMs)
    else setImmediate(run)
  }

  async #runNext(): Promise<void> {
    const batch = this.#take()
    if (batch.length === 0) return
    this.#running++
    this.#schedule()
    try {
      await this.#writeOrSplit(batch)
    } finally {
      this.#running--
      this.#schedule()
    }
  }

  #take(): Waiting<Item>[] {
    const { ownerOf, maxBatch } = this.#options
    const { batch, rest } =
      ownerOf && this.#waitingWeight > maxBatch
        ? takeFair(this.#waiting, maxBatch, ownerOf)
        : takeOldest(this.#waiting, maxBatch)
    this.#waiting = rest
    for (const { item, weight } of batch) {
      this.#waitingWeight -= weight
      this.#count(item, -weight)
    }
    return batch
  }

  /**
   * Splits a failed batch in halves, until the items that cause the failure are alone: one invalid item among n costs about 2 * log2(n)
   * writes, and no other item fails. The halves are written one after the other, so the items keep their order. A single item that was
   * not split off gets a second try, because a failure may be temporary. For example, PostgreSQL rejects a row of the default partition
   * while a partition for its day is attached.
   */
  async #writeOrSplit(batch: Waiting<Item>[], isLastTry = false): Promise<void> {
    try {
      await this.#writeWithRetry(batch.map(({ item }) => item))
    } catch (error) {
      const isRetryable = this.#options.isRetryable(error)
      if (isRetryable || (isLastTry && batch.length === 1)) {
        if (isRetryable) this.#options.onGivenUp?.(error)
        for (const { settled } of batch) settled(error)
        return
      }
      const middle = batch.length >> 1
      for (const half of [batch.slice(0, middle), batch.slice(middle)])
        if (half.length > 0) await this.#writeOrSplit(half, true)
      return
    }
    for (const { settled } of batch) settled()
  }

  /** Writes a batch, and again after a lost connection. The lost attempt may have been committed, but writes are idempotent. */
  async #writeWithRetry(items: Item[]): Promise<void> {
    const deadline = performance.now() + this.#options.retryForMs
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#options.write(items)
      } catch (error) {
        if (!this.#options.isRetryable(error) || performance.now() > deadline) throw error
        await new Promise(done => setTimeout(done, Math.min(50 * attempt, 500)))
      }
    }
  }
}

type Taken<Item> = { batch: Waiting<Item>[]; rest: Waiting<Item>[] }

/** Takes the oldest items that fit into a batch, at least one. */
function takeOldest<Item>(waiting: Waiting<Item>[], maxBatch: number): Taken<Item> {
  let weight = 0
  let count = 0
  while (count < waiting.length) {
    weight += waiting[count]!.weight
    if (count > 0 && weight > maxBatch) break
    count++
  }
  return { batch: waiting.slice(0, count), rest: waiting.slice(count) }
}

/**
 * Takes a batch when not all waiting items fit. The first pass gives each owner a share, so that a heavy sender delays only its
 * own items. The second pass fills the rest of the batch. Items of one owner keep their order, and the oldest item is always
 * taken.
 */
function takeFair<Item>(
  waiting: Waiting<Item>[],
  maxBatch: number,
  ownerOf: (item: Item) => string,
): Taken<Item> {
  const batch: Waiting<Item>[] = []
  let weight = 0
  let rest = waiting
  for (const share of [maxBatch / OWNERS_PER_BATCH, maxBatch]) {
    const takenOf = new Map<string, number>()
    const left: Waiting<Item>[] = []
    for (const one of rest) {
      const owner = ownerOf(one.item)
      const before = takenOf.get(owner) ?? 0
      const fits = weight + one.weight <= maxBatch && (before === 0 || before + one.weight <= share)
      if (fits || batch.length === 0) {
        batch.push(one)
        weight += one.weight
        takenOf.set(owner, before + one.weight)
      } else {
        left.push(one)
        takenOf.set(owner, Number.POSITIVE_INFINITY)
      }
    }
    rest = left
  }
  return { batch, rest }
}
