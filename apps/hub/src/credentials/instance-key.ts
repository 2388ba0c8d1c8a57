import { hkdfSync, randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../config-error.ts'

/** Gives a key of 32 bytes for one purpose; none tells anything about another or about the instance's own. */
export type InstanceKey = (purpose: string) => Buffer

/**
 * The secret of the instance: from its setting, which nodes share, else from `instance-key` in the data folder, made at the
 * first start where it may be. Throws `ConfigError` when that file is damaged: a new key would make everything signed before
 * worthless.
 */
export async function loadInstanceKey(
  dataDir: string,
  setting: string | undefined,
  { mayMake = true }: { mayMake?: boolean } = {},
): Promise<InstanceKey> {
  return instanceKeyOf(setting ?? (await keyOfFile(join(dataDir, 'instance-key'), mayMake)))
}

/** The keys that follow from a secret of 64 hexadecimal digits. */
export function instanceKeyOf(hex: string): InstanceKey {
  const key = Buffer.from(hex, 'hex')
  return purpose => Buffer.from(hkdfSync('sha256', key, 'muster', purpose, 32))
}

async function keyOfFile(path: string, mayMake: boolean): Promise<string> {
  const found = await readFile(path, 'utf8').catch(error => {
    if (error.code !== 'ENOENT') throw error
  })
  if (found === undefined) {
    if (!mayMake)
      throw new ConfigError(
        `MUSTER_INSTANCE_KEY: found neither it nor ${path}, expected the key of the instance in MUSTER_DATA_DIR.`,
      )
    const fresh = `${path}.${process.pid}`
    await writeFile(fresh, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true })
    try {
      // Whole or not at all, and never over one that is there.
      await link(fresh, path)
    } finally {
      await rm(fresh)
    }
    return keyOfFile(path, mayMake)
  }
  const key = found.trim()
  if (!/^[0-9a-f]{64}$/.test(key))
    throw new ConfigError(
      `MUSTER_INSTANCE_KEY: found a damaged ${path}, expected 64 hexadecimal digits in it.`,
    )
  return key
}
