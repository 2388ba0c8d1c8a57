import { sql } from 'kysely'
import { ConfigError } from '../config/config-error.ts'
import type { InstanceKey } from '../credentials/instance-key.ts'
import type { Db } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'
import { runningNodes } from './node.ts'

const SETTING = 'instance-key'

/**
 * Throws `ConfigError` when this node's instance key differs from that of the running nodes. Nodes with different keys could not
 * use each other's mailed links and secrets, and the audit log that they seal together could not be verified. The database keeps a
 * value derived from the key, which does not reveal the key. A node may replace the stored value if no other node runs or if the
 * value belongs to the node's previous key. If the replaced value belongs to neither key of the node, a warning is logged.
 */
export async function requireSharedKey(
  db: Db,
  key: InstanceKey,
  previous: InstanceKey | undefined,
  nodeId: string,
  log: Logger,
): Promise<void> {
  const mark = markOf(key)
  const isAlone = (await runningNodes(db)).every(node => node.node_id === nodeId)
  const { rows } = await sql<{ isSame: boolean; isUnknown: boolean | null }>`
    with before as (select value from instance_setting where key = ${SETTING})
    insert into instance_setting as s (key, value) values (${SETTING}, ${mark}::jsonb)
    on conflict (key) do update
      set value = case when ${isAlone}::boolean or s.value = ${markOf(previous)}::jsonb
                       then excluded.value else s.value end
    returning value = ${mark}::jsonb as "isSame",
      (select value from before) not in (${mark}::jsonb, coalesce(${markOf(previous)}::jsonb, ${mark}::jsonb)) as "isUnknown"`.execute(
    db,
  )
  if (!rows[0]!.isSame)
    throw new ConfigError(
      'MUSTER_INSTANCE_KEY: found another key than the running nodes have, expected the same one on every node.',
    )
  // The replaced value belonged to an unknown key, for example after a backup was restored without its instance key.
  if (rows[0]!.isUnknown)
    log.warn(
      'the instance key has changed: audit seals and secrets stored with the former key need MUSTER_INSTANCE_KEY_PREVIOUS',
    )
}

/** Value by which instance keys are compared. It is derived from the key and does not reveal it. */
export function keyMark(key: InstanceKey): string {
  return key('mark').toString('hex')
}

function markOf(key: InstanceKey | undefined): string | null {
  return key ? JSON.stringify(keyMark(key)) : null
}
