import { access, constants, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError } from '../config/config-error.ts'

/** Name of the file that exists while a restore fills the data folder. Each of its lines names an entry that the restore makes. */
export const UNFINISHED_FILE = 'unfinished-restore'

/** Creates the data folder if it is absent. Throws `ConfigError` if it cannot be written. */
export async function prepareDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir)
    await requireWritable(dataDir)
  } catch (error) {
    throw unusable(dataDir, error)
  }
}

/** Throws `ConfigError` if `prepareDataDir` would fail. Creates nothing. */
export async function checkDataDir(dataDir: string): Promise<void> {
  for (let path = dataDir; ; path = dirname(path)) {
    try {
      return await requireWritable(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path))
        throw unusable(dataDir, error)
    }
  }
}

function requireWritable(path: string): Promise<void> {
  return access(path, constants.W_OK | constants.X_OK)
}

function unusable(dataDir: string, error: unknown): ConfigError {
  return new ConfigError(
    `MUSTER_DATA_DIR: found ${dataDir} (${(error as NodeJS.ErrnoException).code}), expected a folder that can be written.`,
  )
}

/**
 * Creates a folder and its parents. Node's `mkdir` with `recursive` loops for ever on a file system that reports its root as
 * missing, such as /proc.
 */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o755 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (code !== 'ENOENT' || path === dirname(path) || (await stat(dirname(path)).catch(() => undefined)))
      throw error
    await makeFolder(dirname(path))
    await mkdir(path, { mode: 0o755 })
  }
}

/**
 * Throws `ConfigError` if a restore into the data folder, or with its files into an external database, was not finished. A start calls it
 * before it makes an instance key, which the next restore would find instead of the right one.
 */
export async function refuseUnfinished(dataDir: string): Promise<void> {
  if ((await unfinishedEntries(dataDir)) !== undefined)
    throw new ConfigError(
      `MUSTER_DATA_DIR: found a restore in ${dataDir} that was not finished, expected a complete one: run muster-hub restore again, which finishes it or begins anew.`,
    )
}

/** Entries of the data folder that an unfinished restore makes: `postgres` and `blobs`. Undefined without such a restore. */
export async function unfinishedEntries(dataDir: string): Promise<string[] | undefined> {
  const text = await readFile(join(dataDir, UNFINISHED_FILE), 'utf8').catch(error => {
    if (error.code !== 'ENOENT') throw error
  })
  return text?.split('\n').filter(Boolean)
}
