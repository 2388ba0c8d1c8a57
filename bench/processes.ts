import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks a second in which the kernel counts processor time. */
const TICKS_PER_SEC = 100

/** Processor time in seconds that a process, everything below it and what ended below it have used so far. */
export function treeProcessorSecs(pid: number): number {
  const all = processorTimes()
  const sumBelow = (at: number): number => {
    let sum = all.get(at)?.secs ?? 0
    for (const [child, { parent }] of all) if (parent === at) sum += sumBelow(child)
    return sum
  }
  return sumBelow(pid)
}

/** Runs something and tells how many cores processes that are not this one's used meanwhile: a shared machine is noisy. */
export async function withForeignCores<Result>(
  work: () => Promise<Result>,
): Promise<{ result: Result; foreignCores: number }> {
  const before = foreignSecs()
  const started = performance.now()
  const result = await work()
  const secs = (performance.now() - started) / 1000
  return { result, foreignCores: Math.max(0, foreignSecs() - before) / secs }
}

/** Memory of a process that is in use, in KiB. */
export function residentKiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1])
}

/**
 * Most files that a process of this user may open. Node takes the hard limit by itself, so this is what a hub or a load client has.
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
      // The process ended meanwhile.
    }
  }
  return found
}
