import { createHash } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ConfigError } from '../config/config-error.ts'

/** Time that another hub may take to remove a stale lock, in milliseconds. The removal needs only three system calls. */
const REMOVAL_TIMEOUT_MS = 5_000
/** Interval at which the removal of a stale lock is tried again, in milliseconds. */
const REMOVAL_RETRY_MS = 5

/**
 * Locks a data folder for this process. The lock file contains the process id and the start time of the process. A lock left by a
 * crash is therefore recognized even if another program has since got the process id. Throws `ConfigError` when another hub holds
 * the lock.
 */
export async function lockDataDir(dataDir: string): Promise<AsyncDisposable> {
  const file = join(dataDir, 'hub.lock')
  const draft = `${file}.${process.pid}`
  try {
    await writeFile(draft, `${process.pid} ${(await statOf(process.pid)).start}`)
    const holder = await acquire(file, draft, performance.now() + REMOVAL_TIMEOUT_MS)
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

/**
 * Acquires a lock by linking the draft to the lock file. Resolves to the id of another process that holds the lock, or to
 * undefined if this process acquired it.
 */
async function acquire(file: string, draft: string, deadline: number): Promise<number | undefined> {
  while (!(await linkDraft(draft, file))) {
    const found = await readFile(file, 'utf8').catch(() => undefined)
    if (found === undefined) continue
    const holder = (await holderOf(found)) ?? (await removeStale(file, found, draft, deadline))
    if (holder !== undefined) return holder
  }
  return undefined
}

/**
 * Hard-links the draft to the lock file unless the lock file exists. Linking is atomic, so no process reads a partly written lock.
 */
async function linkDraft(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes a stale lock. Several processes may find it stale, and a late process must not remove the new lock of another process.
 * So a process first takes a second lock, and removes the stale lock only if it is still unchanged. Resolves to the id of a process that
 * holds the second lock beyond the deadline.
 */
async function removeStale(
  file: string,
  found: string,
  draft: string,
  deadline: number,
): Promise<number | undefined> {
  const right = `${file}.${createHash('sha256').update(found).digest('hex').slice(0, 16)}`
  const other = await acquire(right, draft, deadline)
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

/** Returns the process id in a lock, if a process with that id is running and has the start time in the lock. */
async function holderOf(lock: string): Promise<number | undefined> {
  const [pid, start] = lock.split(' ')
  const holder = Number(pid)
  if (!Number.isInteger(holder) || holder <= 0 || holder === process.pid || !isAlive(holder)) return undefined
  const { state, start: startOfHolder } = await statOf(holder)
  // A killed process whose parent has not read its exit status (a zombie) holds no files and never runs again.
  return startOfHolder === start && state !== 'Z' && state !== 'X' ? holder : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * State of a process as a letter, and its start time in kernel ticks since boot. Empty on systems without /proc: there only the process id is
 * compared.
 */
async function statOf(pid: number): Promise<{ state: string; start: string }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', start: fields[19] ?? '' }
}
