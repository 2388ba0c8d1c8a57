/** Counts work under way, so that whoever takes its ground away can wait for it first. */
export class InFlight {
  readonly #work = new Set<Promise<unknown>>()

  /** Counts a piece of work until it settles; returns it. */
  track<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work)
    const settled = (): boolean => this.#work.delete(work)
    work.then(settled, settled)
    return work
  }

  /** Resolves when all work that began until now is settled, or the time is over. */
  async settled(timeoutMs: number): Promise<void> {
    if (this.#work.size > 0) await waitUpTo(timeoutMs, Promise.allSettled([...this.#work]))
  }
}

/** Waits for work that never fails, but no longer than this. */
export async function waitUpTo(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise(done => {
    timer = setTimeout(done, timeoutMs)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
