/** Lets a bounded number of tasks run at once; the others wait in order. */
export class Gate {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Runs the task when there is a place for it. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      // The place passes on to the next one directly, so that no newcomer gets in between.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}
