import { ActionError } from '@muster/actions'
import { isConnectionError, isDeadlock } from '../database/connection.ts'

export type BatcherOptions<Item> = {
  /** Makes a batch durable; resolves when it is. Called with at least one item. */
  write: (items: Item[]) => Promise<void>
  /** How much an item counts toward the limits below. */
  weigh: (item: Item) => number
  /** Largest weight of one batch. */
  maxBatch: number
  /** Most weight that may wait; over it callers are refused, so that a slow database costs no memory. */
  maxWaiting: number
  /** Whose an item is, where each has a share of that only: one who sends all it can must not take the places of all others. */
  ownerOf?: (item: Item) => string
  /** Most weight that may wait of one owner; one item always may. */
  maxWaitingEach?: number
  /** Batches under way at once. */
  parallel: number
  /** Least time between the starts of two batches, in milliseconds, where a statement costs more than its rows; none when absent. */
  lingerMs?: number
  /** How long an unreachable database is waited for before callers are told, in milliseconds. */
  retryForMs: number
  /** Told when a batch was given up because the database stayed away or has no room: once for all its callers. */
  onGivenUp?: (error: unknown) => void
}

/** Among how many owners a batch is shared at least, where more waits than fits into it. */
const OWNERS_A_BATCH = 8

type Waiting<Item> = { item: Item; weight: number; done: () => void; failed: (error: unknown) => void }

/**
 * Gathers what many callers write while earlier batches are under way and writes it as one statement: at low load an item goes
 * out at once, at high load it waits a moment for others. Each caller is answered after its batch is durable, never before.
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

  /** Resolves when the item is durable; rejects with `Internal` (503) when too much waits or the database stays away. */
  add(item: Item): Promise<void> {
    const weight = this.#options.weigh(item)
    if (this.#waitingWeight + weight > this.#options.maxWaiting || !this.#hasShare(item, weight)) {
      return Promise.reject(
        new ActionError('Internal', 'The hub cannot store data fast enough.', { status: 503 }),
      )
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
   * One item that the database refuses must not fail its neighbours: they are written one by one then. Every item has a second
   * try by itself, because a row for the default partition is refused while a partition for it is being made.
   */
  async #writeOrSplit(batch: Waiting<Item>[], isLastTry = false): Promise<void> {
    try {
      await this.#writeWithRetry(batch.map(({ item }) => item))
      for (const { done } of batch) done()
    } catch (error) {
      if (isLastTry || isConnectionError(error) || isDeadlock(error)) {
        if (isConnectionError(error)) this.#options.onGivenUp?.(error)
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
        if (!(isConnectionError(error) || isDeadlock(error)) || performance.now() > deadline) throw error
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
