import { join } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import { makeSecret, readSecret } from '../credentials/secret-file.ts'

/**
 * Bearer token of the operator listener: the setting, else the content of the file `operator-token` in the data folder. If the file is
 * absent, it is created with a random token, readable for the hub's account only. Throws `ConfigError` when the file is damaged.
 */
export async function loadOperatorToken(dataDir: string, setting: string | undefined): Promise<string> {
  if (setting !== undefined) return setting
  const path = join(dataDir, 'operator-token')
  const found = (await readSecret(path)) ?? (await makeSecret(path))
  if (!/^[0-9a-f]{64}$/.test(found))
    throw new ConfigError(
      `MUSTER_OPERATOR_TOKEN: found a damaged ${path}, expected 64 hexadecimal digits in it; delete it for a new token.`,
    )
  return found
}
