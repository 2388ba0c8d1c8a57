/**
 * Polls until a condition holds and returns what it gave; throws when it does not within the time, which is what a busy machine takes
 * and less than a test has. For tests, instead of sleeping.
 */
export async function until<T>(
  what: string,
  condition: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  timeoutMs = 25_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const result = await condition()
    if (result) return result
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${timeoutMs} ms`)
    await new Promise(done => setTimeout(done, 10))
  }
}
