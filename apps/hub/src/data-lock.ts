import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from './config.ts'

/**
 * Holds a data folder for one process. The file names a process and when it started, so that one left by a crash, even with
 * its number taken by another program since, blocks nothing. Throws `ConfigError` when another hub lives there.
 */
export async function lockDataDir(dataDir: string): Promise<AsyncDisposable> {
  const file = join(dataDir, 'hub.lock')
  const own = `${process.pid} ${await startOf(process.pid)}`
  for (;;) {
    try {
      await writeFile(file, own, { flag: 'wx' })
      return { [Symbol.asyncDispose]: () => rm(file, { force: true }) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const [pid, start] = (await readFile(file, 'utf8').catch(() => '')).split(' ')
    if (
      pid &&
      Number(pid) !== process.pid &&
      isAlive(Number(pid)) &&
      (await startOf(Number(pid))) === start
    ) {
      throw new ConfigError(
        `MUSTER_DATA_DIR: found ${dataDir} in use by the hub with process id ${pid}, expected a folder of this hub's own.`,
      )
    }
    await rm(file, { force: true })
  }
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
