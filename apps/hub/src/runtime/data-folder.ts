import { access, constants, mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError } from '../config-error.ts'

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
