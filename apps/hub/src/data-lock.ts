import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from './config.ts'

/**
 * Holds a data folder for one process. The file names a process and when it started, so that one left by a crash, even with
 * its number taken by another program since, blocks nothing. Throws `ConfigError` when another hub lives there.
 */
export async function lockDataDir(dataDir: string): Promise<AsyncDisposable> {
  const file = join(dataDir, 'hub.lock')
  const draft = `${file}.${process.pid}`
  await writeFile(draft, `${process.pid} ${await startOf(process.pid)}`)
  try {
    while (!(await appear(draft, file))) {
      const found = await readFile(file, 'utf8').catch(() => undefined)
      if (found === undefined) continue
      const holder = await holderOf(found)
      if (holder !== undefined) {
        throw new ConfigError(
          `MUSTER_DATA_DIR: found ${dataDir} in use by the hub with process id ${holder}, expected a folder of this hub's own.`,
        )
      }
      await removeStale(file, found, `${draft}.stale`)
    }
  } finally {
    await rm(draft, { force: true })
  }
  return { [Symbol.asyncDispose]: () => rm(file, { force: true }) }
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

/** Removes a lock that was found stale, and only that one: meanwhile another hub may have done the same and locked. */
async function removeStale(file: string, found: string, aside: string): Promise<void> {
  try {
    await rename(file, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  if ((await readFile(aside, 'utf8')) !== found) await appear(aside, file)
  await rm(aside, { force: true })
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
