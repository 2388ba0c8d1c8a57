import { createHash } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ConfigError } from '../config-error.ts'

/** How long another hub may take to remove a lock that a crash left, which is three system calls, in milliseconds. */
const REMOVAL_TIMEOUT_MS = 5_000
const REMOVAL_RETRY_MS = 5

/**
 * Holds a data folder for one process. The file names a process and when it started, so that one left by a crash, even with
 * its number taken by another program since, blocks nothing. Throws `ConfigError` when another hub lives there.
 */
export async function lockDataDir(dataDir: string): Promise<AsyncDisposable> {
  const file = join(dataDir, 'hub.lock')
  const draft = `${file}.${process.pid}`
  try {
    await writeFile(draft, `${process.pid} ${await startOf(process.pid)}`)
    const holder = await take(file, draft, performance.now() + REMOVAL_TIMEOUT_MS)
    if (holder !== undefined) {
      throw new ConfigError(
        `MUSTER_DATA_DIR: found ${dataDir} in use by the hub with process id ${holder}, expected a folder of this hub's own.`,
      )
    }
  } finally {
    await rm(draft, { force: true })
  }
  return { [Symbol.asyncDispose]: () => rm(file, { force: true }) }
}

/** Makes a lock of the draft; resolves to the process that has the lock instead, if one does. */
async function take(file: string, draft: string, deadline: number): Promise<number | undefined> {
  while (!(await appear(draft, file))) {
    const found = await readFile(file, 'utf8').catch(() => undefined)
    if (found === undefined) continue
    const holder = (await holderOf(found)) ?? (await removeStale(file, found, draft, deadline))
    if (holder !== undefined) return holder
  }
  return undefined
}

/** Gives the draft its final name unless that is taken; by a link, so that nobody ever reads half a lock. */
async function appear(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes a lock that was found stale. Many may find it so, and who is late must not remove what another has put in its place:
 * the right to look again and remove it is a lock itself. Resolves to the process that does not come to an end with that.
 */
async function removeStale(
  file: string,
  found: string,
  draft: string,
  deadline: number,
): Promise<number | undefined> {
  const right = `${file}.${createHash('sha256').update(found).digest('hex').slice(0, 16)}`
  const other = await take(right, draft, deadline)
  if (other !== undefined) {
    if (performance.now() > deadline) return other
    await pause(REMOVAL_RETRY_MS)
    return undefined
  }
  try {
    if ((await readFile(file, 'utf8').catch(() => undefined)) === found) await rm(file)
  } finally {
    await rm(right, { force: true })
  }
  return undefined
}

/** The process that a lock names, when it lives and is the one that wrote it. */
async function holderOf(lock: string): Promise<number | undefined> {
  const [pid, start] = lock.split(' ')
  const holder = Number(pid)
  if (!Number.isInteger(holder) || holder <= 0 || holder === process.pid || !isAlive(holder)) return undefined
  return (await startOf(holder)) === start ? holder : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When a process started, in the kernel's ticks where it tells them; elsewhere the process number alone must do. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}
