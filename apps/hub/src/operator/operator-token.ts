import { randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../config-error.ts'

/**
 * Bearer token of the operator listener: the setting, else the content of the file `operator-token` in the data folder. If the file is
 * absent, it is created with a random token, readable for the hub's account only. Throws `ConfigError` when the file is damaged.
 */
export async function loadOperatorToken(dataDir: string, setting: string | undefined): Promise<string> {
  if (setting !== undefined) return setting
  const path = join(dataDir, 'operator-token')
  const found = (await readToken(path)) ?? (await makeToken(path))
  if (!/^[0-9a-f]{64}$/.test(found))
    throw new ConfigError(
      `MUSTER_OPERATOR_TOKEN: found a damaged ${path}, expected 64 hexadecimal digits in it; delete it for a new token.`,
    )
  return found
}

async function readToken(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function makeToken(path: string): Promise<string> {
  const token = randomBytes(32).toString('hex')
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${token}\n`, { mode: 0o600, flush: true })
  try {
    // `link` is atomic, so no other process reads a partly written file.
    await link(draft, path)
  } finally {
    await rm(draft)
  }
  return token
}
