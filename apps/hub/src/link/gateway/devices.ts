import { newId, publicIdOf } from '@muster/actions'
import { nameKey } from '@muster/predicates/name-key'
import { hashSecret } from '../../platform/credentials/secrets.ts'
import type { Tx } from '../../platform/database/client/connection.ts'

/** Fingerprint of every device whose fingerprint script prints nothing (docs/protocol.md 6.4). */
export const EMPTY_FINGERPRINT = 'd_sk_bfHieWDWVpvKHqjSMpzD8y1DzfmUwhj3s5VoZMf8HJH9'

/** Adds a device to a project. Resolves to its id, or to undefined when the project has a device with this fingerprint. */
export async function addDevice(tx: Tx, projectId: string, fingerprint: string): Promise<string | undefined> {
  const made = await tx
    .insertInto('device')
    .values({
      device_id: newId('d'),
      project_id: projectId,
      fingerprint_id: publicIdOf(fingerprint),
      fingerprint_hash: hashSecret(fingerprint),
      name_key: nameKey(''),
    })
    .onConflict(conflict => conflict.columns(['project_id', 'fingerprint_hash']).doNothing())
    .returning('device_id')
    .executeTakeFirst()
  return made?.device_id
}
