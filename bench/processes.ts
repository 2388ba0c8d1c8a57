import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks per second on Linux (USER_HZ). The kernel reports the CPU time of a process in ticks. */
const TICKS_PER_SEC = 100

/** CPU time in seconds used so far by a process and all its descendants, including exited ones. */
export function treeProcessorSecs(pid: number): number {
  const all = processorTimes()
  return treeOf(pid, all).reduce((sum, at) => sum + (all.get(at)?.secs ?? 0), 0)
}

/**
 * Runs `work` and measures the foreign load of the machine while `work` runs: the number of cores used by processes other than
 * this process and its descendants.
 */
export async function withForeignCores<Result>(
  work: () => Promise<Result>,
): Promise<{ result: Result; foreignCores: number }> {
  const before = foreignSecs()
  const started = performance.now()
  const result = await work()
  const secs = (performance.now() - started) / 1000
  return { result, foreignCores: Math.max(0, foreignSecs() - before) / secs }
}

/** Proportional memory (PSS) in KiB: of the hub alone, and of the hub with all its descendants. */
export function memoryKiB(pid: number): { hub: number; all: number } {
  const tree = treeOf(pid, processorTimes())
  return { hub: pssKiB(pid), all: tree.reduce((sum, at) => sum + pssKiB(at), 0) }
}

/**
 * Samples the resident memory of a process every `everyMs` until disposed. `mostKiB()` returns the largest growth so far, in KiB.
 */
export function watchGrowth(pid: number, everyMs: number): Disposable & { mostKiB(): number } {
  const before = residentKiB(pid)
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, residentKiB(pid))
  }, everyMs)
  return { mostKiB: () => most - before, [Symbol.dispose]: () => clearInterval(timer) }
}

/** Resident memory of a process in KiB. */
export function residentKiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1])
}

/**
 * Hard limit of open files per process. Node raises its soft limit to the hard limit, so the hard limit applies to hubs and load
 * clients.
 */
export function maxOpenFiles(): number {
  const line = /Max open files\s+\S+\s+(\S+)/.exec(readFileSync('/proc/self/limits', 'latin1'))![1]!
  return line === 'unlimited' ? Number.POSITIVE_INFINITY : Number(line)
}

function foreignSecs(): number {
  let all = 0
  for (const { secs } of processorTimes().values()) all += secs
  return all - treeProcessorSecs(process.pid)
}

function pssKiB(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** Ids of a process and all its descendants. */
function treeOf(pid: number, all: Map<number, { parent: number }>): number[] {
  const children = [...all].filter(([, { parent }]) => parent === pid)
  return [pid, ...children.flatMap(([child]) => treeOf(child, all))]
}

function processorTimes(): Map<number, { parent: number; secs: number }> {
  const found = new Map<number, { parent: number; secs: number }>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const ticks = Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])
      found.set(Number(entry), { parent: Number(fields[1]), secs: ticks / TICKS_PER_SEC })
    } catch {
      // The process has exited since /proc was listed.
    }
  }
  return found
}
