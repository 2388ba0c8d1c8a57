import { LABELS } from '@muster/predicates'
import { sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import { type DeviceCaller, wireActor } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'

/** Labels of a deployment token, as its column has them; null without any. */
export type TokenLabels = Record<string, string> | null

/** Gives devices that were just created the labels of the token with which they enrol, with one statement for all, and records them. */
export async function labelNewDevices(
  { tx, events }: Pick<CommandTransaction, 'events'> & { tx: Tx },
  labels: TokenLabels,
  devices: readonly DeviceCaller[],
): Promise<void> {
  if (labels === null || devices.length === 0) return
  const text = JSON.stringify(labels)
  const ids = devices.map(({ deviceId }) => deviceId)
  const actors = devices.map(device => JSON.stringify(wireActor(device)))
  await sql`
    with labelled as (
      insert into device_property (device_id, name, value, value_json, value_bytes, protected)
      select device_id, ${LABELS}, ${text}::text::json, ${text}::text::jsonb, octet_length(${text}::text), true from unnest(${ids}::text[]) as i (device_id)
      returning device_id, name, version, value
    )
    insert into device_property_change (device_id, name, version, value, actor, changed_at)
    select device_id, name, version, value, actor::jsonb, clock_timestamp()
      from labelled join unnest(${ids}::text[], ${actors}::text[]) as i (device_id, actor) using (device_id)`.execute(
    tx,
  )
  for (const caller of devices)
    for (const [key, value] of Object.entries(labels)) {
      const { projectId, deviceId } = caller
      await events.emit('devices_LabelSet', { projectId, deviceId, key, value }, { caller })
    }
}
