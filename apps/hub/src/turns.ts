import { ActionError } from '@muster/actions'

type TurnsOptions = {
  /** How much work may be under way, and how much of one owner. */
  max: number
  maxEach: number
  /** How long work waits for its turn, in milliseconds. */
  waitTimeoutMs: number
}

/** Work that takes long, a little of it at a time and in turns of whose it is: who has much of it waits for themself. */
export class Turns {
  readonly #options: TurnsOptions
  #running = 0
  readonly #runningOf = new Map<string, number>()
  /** What waits, by owner; who had a turn last comes last. */
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  /** Does a piece of work of an owner when it is its turn. Throws `RateLimited` when that takes too long. */
  async take<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#hasRoomFor(owner)) this.#count(owner, 1)
    else await this.#turnOf(owner)
    try {
      return await work()
    } finally {
      this.#count(owner, -1)
      this.#beginNext()
    }
  }

  #hasRoomFor(owner: string): boolean {
    return this.#running < this.#options.max && (this.#runningOf.get(owner) ?? 0) < this.#options.maxEach
  }

  #count(owner: string, change: 1 | -1): void {
    this.#running += change
    const running = (this.#runningOf.get(owner) ?? 0) + change
    if (running === 0) this.#runningOf.delete(owner)
    else this.#runningOf.set(owner, running)
  }

  #turnOf(owner: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const begin = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      this.#forget(owner, begin)
      reject(
        new ActionError('RateLimited', 'Too many lists are looked through at once.', { retryAfterSecs: 5 }),
      )
    }, this.#options.waitTimeoutMs)
    const queue = this.#waiting.get(owner) ?? new Set()
    this.#waiting.set(owner, queue.add(begin))
    return promise
  }

  #forget(owner: string, begin: () => void): void {
    const queue = this.#waiting.get(owner)!
    queue.delete(begin)
    if (queue.size === 0) this.#waiting.delete(owner)
  }

  #beginNext(): void {
    for (const [owner, queue] of this.#waiting) {
      if (!this.#hasRoomFor(owner)) continue
      const [begin] = queue
      this.#forget(owner, begin!)
      if (queue.size > 0) {
        this.#waiting.delete(owner)
        this.#waiting.set(owner, queue)
      }
      this.#count(owner, 1)
      begin!()
      return
    }
  }
}
