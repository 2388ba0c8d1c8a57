import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { ConfigError } from './config-error.ts'
import { codeOf } from './describe-error.ts'

/** Number of bytes of the file that are read. A token has 77 characters. */
const MAX_BYTES = 1024

/** Reads the token from a file of mode 0600. Throws `ConfigError` for another mode, because other accounts could read the token. */
export async function readTokenFile(path: string): Promise<string> {
  const expected = 'a file of mode 0600 with the deployment token'
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      const stats = await file.stat()
      const mode = stats.mode & 0o777
      if (!stats.isFile()) throw new ConfigError(`--token-file: found ${path}, expected ${expected}`)
      if (mode !== 0o600) {
        throw new ConfigError(
          `--token-file: found mode 0${mode.toString(8).padStart(3, '0')} of ${path}, expected ${expected}`,
        )
      }
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_BYTES) })
      return buffer.toString('utf8', 0, bytesRead).trim()
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`--token-file: found ${path} (${codeOf(error)}), expected ${expected}`, {
      cause: error,
    })
  }
}
