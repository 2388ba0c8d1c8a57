import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const EVERY_MS = 250
/**
 * Minimum share of the time that is left to `work` between measurements. A measurement blocks the process, and with it `work`.
 */
const WORK_SHARE = 0.75

/**
 * Runs `work` and returns the largest growth of live memory in bytes compared with the start, at any moment up to its
 * end. Collectable garbage is not counted.
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
    // Memory of buffers is freed in the background, at the latest when the next collection begins. So a new maximum is measured
    // again, and the second value counts.
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
