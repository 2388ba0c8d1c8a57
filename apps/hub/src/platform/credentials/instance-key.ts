import { hkdfSync } from 'node:crypto'
import { join } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import { makeSecret, readSecret } from './secret-file.ts'

/** Derives a key of 32 bytes for one purpose. The derived key reveals neither the keys of other purposes nor the instance key. */
export type InstanceKey = (purpose: string) => Buffer

/**
 * Loads the instance key from its setting, which all nodes share, else from the file `instance-key` in the data folder. Creates an
 * absent file if `mayMake` is true. Throws `ConfigError` when the file is damaged, or absent and `mayMake` is false. A damaged key
 * is not replaced, because that would invalidate everything that was signed with it.
 */
export async function loadInstanceKey(
  dataDir: string,
  setting: string | undefined,
  { mayMake = true }: { mayMake?: boolean } = {},
): Promise<InstanceKey> {
  return instanceKeyOf(setting ?? (await keyOfFile(instanceKeyFile(dataDir), mayMake)))
}

/** Whether the data folder has a file with an instance key. Throws `ConfigError` when the file is damaged. */
export async function hasInstanceKey(dataDir: string): Promise<boolean> {
  const path = instanceKeyFile(dataDir)
  return (await readSecret(path)) !== undefined && (await keyOfFile(path, false)) !== ''
}

/** Path of the file with the instance key, which a hub makes unless `MUSTER_INSTANCE_KEY` is set. */
export function instanceKeyFile(dataDir: string): string {
  return join(dataDir, 'instance-key')
}

/** Whether a text is an instance key: 64 hexadecimal digits. */
export function isInstanceKey(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}

/** Returns the key derivation for an instance key of 64 hexadecimal digits. */
export function instanceKeyOf(hex: string): InstanceKey {
  const key = Buffer.from(hex, 'hex')
  return purpose => Buffer.from(hkdfSync('sha256', key, 'muster', purpose, 32))
}

async function keyOfFile(path: string, mayMake: boolean): Promise<string> {
  const key = (await readSecret(path)) ?? (mayMake ? await makeSecret(path) : undefined)
  if (key === undefined)
    throw new ConfigError(
      `MUSTER_INSTANCE_KEY: found neither it nor ${path}, expected the key of the instance in MUSTER_DATA_DIR.`,
    )
  if (!isInstanceKey(key))
    throw new ConfigError(
      `MUSTER_INSTANCE_KEY: found a damaged ${path}, expected 64 hexadecimal digits in it.`,
    )
  return key
}
