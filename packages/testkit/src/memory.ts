import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const EVERY_MS = 250
/** The work under test has at least so much of the time: looking stops everything else in this process. */
const WORK_SHARE = 0.75

/**
 * Runs something and tells how many bytes more than before this process held at the worst moment, its end included; what only waits
 * to be collected is not held.
 */
export async function heldDuring<Result>(
  work: () => Promise<Result>,
): Promise<{ result: Result; heldBytes: number }> {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const inUse = (): number => {
    collectGarbage()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return arrayBuffers + heapUsed
  }
  inUse()
  const before = inUse()
  let heldBytes = 0
  const look = (): void => {
    // Buffers are freed beside the program, and for certain when the next collection begins.
    if (inUse() - before > heldBytes) heldBytes = Math.max(heldBytes, inUse() - before)
  }
  let timer: NodeJS.Timeout
  const lookAgain = (afterMs: number): void => {
    timer = setTimeout(() => {
      const started = performance.now()
      look()
      const tookMs = performance.now() - started
      lookAgain(Math.max(EVERY_MS, (tookMs * WORK_SHARE) / (1 - WORK_SHARE)))
    }, afterMs)
  }
  lookAgain(EVERY_MS)
  try {
    const result = await work()
    look()
    return { result, heldBytes }
  } finally {
    clearTimeout(timer!)
  }
}
