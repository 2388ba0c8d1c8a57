import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

/** Folder of Linux whose files are in memory. */
const MEMORY = '/dev/shm'
const NAME = /^muster-tests-(\d+)$/
/** Free memory that the folder needs, in bytes. The temporary files of a test run take less than a quarter of it. */
const MIN_FREE_BYTES = 6 * 2 ** 30

/**
 * Makes a folder in memory for the temporary files of a test run, and removes it when the process ends. Returns undefined on a system
 * without such memory, or if less than `MIN_FREE_BYTES` of it are free.
 */
export function memoryFolder(): string | undefined {
  let folder: string
  try {
    // A killed process does not remove its folder.
    for (const name of readdirSync(MEMORY).filter(isAbandoned)) remove(join(MEMORY, name))
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize < MIN_FREE_BYTES) return undefined
    folder = join(MEMORY, `muster-tests-${process.pid}`)
    mkdirSync(folder)
    // When the tests run as root, PostgreSQL runs under another account, which must be able to enter the folder.
    chmodSync(folder, 0o755)
  } catch {
    return undefined
  }
  process.once('exit', () => remove(folder))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
  return folder
}

/** Whether a folder belongs to a test run that has ended. */
function isAbandoned(name: string): boolean {
  const pid = Number(NAME.exec(name)?.[1])
  if (!pid) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
