import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const EVERY_MS = 1_000

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
    // Buffers are freed beside the program, and for certain when the next collection begins.
    collectGarbage()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return arrayBuffers + heapUsed
  }
  const before = inUse()
  let heldBytes = 0
  const timer = setInterval(() => {
    heldBytes = Math.max(heldBytes, inUse() - before)
  }, EVERY_MS)
  try {
    const result = await work()
    return { result, heldBytes: Math.max(heldBytes, inUse() - before) }
  } finally {
    clearInterval(timer)
  }
}
