/** Tracks promises in flight. A shutdown waits for them before it closes the resources that they use. */
export class InFlight {
  readonly #work = new Set<Promise<unknown>>()

  /** Tracks a promise until it settles, and returns it. */
  track<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work)
    const settled = (): boolean => this.#work.delete(work)
    work.then(settled, settled)
    return work
  }

  /** Resolves when all promises tracked before this call have settled, or after the timeout. */
  async settled(timeoutMs: number): Promise<void> {
    if (this.#work.size > 0) await waitUpTo(timeoutMs, Promise.allSettled([...this.#work]))
  }
}

/** Waits for a promise, but no longer than the timeout. The promise must not reject. */
export async function waitUpTo(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise(done => {
    timer = setTimeout(done, timeoutMs)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
