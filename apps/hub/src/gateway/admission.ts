/**
 * Lets a bounded number of connections be authenticated at once; the rest wait in order, bounded in number and time. The clock may be
 * set while they do: a machine without one of its own is when its network is there, and with it the fleet.
 */
export class Admission {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #maxWaitMs: number
  readonly #waiting: { admit: () => void; deadline: number; expire: () => void }[] = []
  #running = 0

  constructor({
    maxRunning,
    maxWaiting,
    maxWaitMs,
  }: { maxRunning: number; maxWaiting: number; maxWaitMs: number }) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
    this.#maxWaitMs = maxWaitMs
  }

  /** Resolves to whether there was a place; who got one calls `leave()`. */
  enter(now = performance.now()): Promise<boolean> {
    if (this.#running < this.#maxRunning) {
      this.#running++
      return Promise.resolve(true)
    }
    if (this.#waiting.length >= this.#maxWaiting) return Promise.resolve(false)
    return new Promise(resolve => {
      this.#waiting.push({
        admit: () => resolve(true),
        expire: () => resolve(false),
        deadline: now + this.#maxWaitMs,
      })
    })
  }

  leave(now = performance.now()): void {
    for (;;) {
      const next = this.#waiting.shift()
      if (!next) {
        this.#running--
        return
      }
      // The place passes on; who waited too long is told so when its turn comes, which needs no timer.
      if (next.deadline >= now) {
        next.admit()
        return
      }
      next.expire()
    }
  }
}
