export type BatcherOptions<Item> = {
  /** Makes a batch durable; resolves when it is. Called with at least one item. */
  write: (items: Item[]) => Promise<void>
  /** How much an item counts toward the limits below. */
  weigh: (item: Item) => number
  /** Largest weight of one batch. */
  maxBatch: number
  /** Limit of the waiting weight. Beyond it callers are refused, so that a slow database does not fill the memory. */
  maxWaiting: number
  /** Owner of an item. Each owner gets a share of the queue, so that one that sends at full speed does not displace the others. */
  ownerOf?: (item: Item) => string
  /** Limit of the waiting weight of one owner. One item may always wait. */
  maxWaitingEach?: number
  /** Limit of batches in flight. */
  parallel: number
  /** Minimum time between the starts of two batches in milliseconds, for statements that cost more than their rows. Default 0. */
  lingerMs?: number
  /** Time in milliseconds during which a batch is retried that failed for a reason outside of its items. */
  retryForMs: number
  /** Whether a failure has a reason outside of the items, so that the same batch may be written later. */
  isRetryable: (error: unknown) => boolean
  /** The rejection of an item for which there is no room. */
  overloaded: () => Error
  /** Called once for a whole batch that is given up after `retryForMs`. */
  onGivenUp?: (error: unknown) => void
}

/** When more waits than fits into a batch, each owner first gets 1/8 of it. The remaining room is filled in order. */
const OWNERS_A_BATCH = 8

type Waiting<Item> = { item: Item; weight: number; done: () => void; failed: (error: unknown) => void }

/**
 * Collects items of many callers while earlier batches are in flight and writes them as one statement. At low load an item is
 * written at once, at high load it waits a moment for others. Each caller is answered after its batch is durable, never before.
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

  /** Resolves when the item is durable; rejects when too much waits, or with the failure of its batch. */
  add(item: Item): Promise<void> {
    const weight = this.#options.weigh(item)
    if (this.#waitingWeight + weight > this.#options.maxWaiting || !this.#hasShare(item, weight)) {
      return Promise.reject(this.#options.overloaded())
    }
    return new Promise((done, failed) => {
      this.#waiting.push({ item, weight, done, failed })
      this.#waitingWeight += weight
      this.#count(item, weight)
      this.#schedule()
    })
  }

  #hasShare(item: Item, weight: number): boolean {
    const { ownerOf, maxWaitingEach = Number.POSITIVE_INFINITY } = this.#options
    const before = ownerOf && this.#weightByOwner.get(ownerOf(item))
    return before === undefined || before + weight <= maxWaitingEach
  }

  /** Adds to what waits of an item's owner, or takes away. */
  #count(item: Item, weight: number): void {
    const owner = this.#options.ownerOf?.(item)
    if (owner === undefined) return
    const now = (this.#weightByOwner.get(owner) ?? 0) + weight
    if (now === 0) this.#weightByOwner.delete(owner)
    else this.#weightByOwner.set(owner, now)
  }

  /** Items of one tick of the event loop go together, and those of a moment while batches follow each other. */
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
        ? shared(this.#waiting, maxBatch, ownerOf)
        : first(this.#waiting, maxBatch)
    this.#waiting = rest
    for (const { item, weight } of batch) {
      this.#waitingWeight -= weight
      this.#count(item, -weight)
    }
    return batch
  }

  /**
   * One item that is refused must not fail its neighbours: they are written one by one then. Every item has a second try by itself,
   * because PostgreSQL refuses a row for the default partition while a partition for it is being made.
   */
  async #writeOrSplit(batch: Waiting<Item>[], isLastTry = false): Promise<void> {
    try {
      await this.#writeWithRetry(batch.map(({ item }) => item))
      for (const { done } of batch) done()
    } catch (error) {
      const isRetryable = this.#options.isRetryable(error)
      if (isLastTry || isRetryable) {
        if (isRetryable) this.#options.onGivenUp?.(error)
        for (const { failed } of batch) failed(error)
        return
      }
      for (const one of batch) await this.#writeOrSplit([one], true)
    }
  }

  /** Writes are idempotent, so a lost connection is answered by writing again, whether or not the first try arrived. */
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

/** As many as fit into a batch, and one item in any case. */
function first<Item>(waiting: Waiting<Item>[], maxBatch: number): Taken<Item> {
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
 * As many as fit into a batch, where not all do: at first everybody has a share of it, so that who sends all they can waits for
 * their own writes and others do not. What one owner sent keeps its order, and the one that has waited longest always goes.
 */
function shared<Item>(
  waiting: Waiting<Item>[],
  maxBatch: number,
  ownerOf: (item: Item) => string,
): Taken<Item> {
  const batch: Waiting<Item>[] = []
  let weight = 0
  let rest = waiting
  for (const share of [maxBatch / OWNERS_A_BATCH, maxBatch]) {
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
