import { cpuUsage, memoryUsage } from 'node:process'

/** Interval of the checks, in milliseconds. A process is idle when it hardly used the processor for one interval. */
const INTERVAL_MS = 60_000
/** Largest use of the processor by an idle process: 5 % of a core, four times as much as 1,000 idle devices cause. */
const MAX_CORES = 0.05
/** Growth of the heap since the last collection from which an idle process collects. */
const MIN_GROWTH = 1.25
/** Largest heap in use that is collected, in bytes. The event loop stands still meanwhile: 0.3 s with 60 MiB of live objects. */
const MAX_HEAP_BYTES = 160 * 1024 ** 2

/** `gc` of `--expose-gc`. */
type Collect = NonNullable<typeof globalThis.gc>

/**
 * Gives memory back to the system while the process is idle. V8 lets the heap grow to twice its live objects before it collects, keeps the
 * pages that a collection has emptied, and does nothing at all while nothing is allocated. Without the option `--expose-gc`, which
 * apps/hub/muster-hub.js sets, no memory is given back. `npm run bench -- cluster` has the effect.
 */
export function releaseIdleMemory(
  collect: Collect | undefined = globalThis.gc,
  intervalMs = INTERVAL_MS,
): Disposable {
  // The first idle interval gives back what the start has left.
  let smallestBytes = 0
  let last = cpuUsage()
  const timer = setInterval(() => {
    const { user, system } = cpuUsage(last)
    last = cpuUsage()
    const { heapTotal, heapUsed } = memoryUsage()
    const isIdle = (user + system) / 1000 < intervalMs * MAX_CORES
    if (!isIdle || heapUsed > MAX_HEAP_BYTES || heapTotal < smallestBytes * MIN_GROWTH) return
    collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    smallestBytes = memoryUsage().heapTotal
    last = cpuUsage()
  }, intervalMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
