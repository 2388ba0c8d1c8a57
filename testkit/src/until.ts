/**
 * Polls until a condition holds and returns its value. Throws after a timeout that is long enough for a busy machine and
 * shorter than the timeout of a test. Use it instead of sleeping.
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
