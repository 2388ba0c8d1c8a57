import type { ActionOutput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { wireTime } from '../../platform/runtime/times.ts'

/** Largest JSON text of the data of a message, in bytes. Receivers of webhooks often refuse bodies of more than some ten KiB. */
const MAX_DATA_BYTES = 20 * 1024

/** A message as webhooks and the feed send it. */
export type Message = Omit<ActionOutput<'events_Query'>['events'][number], 'cursor'>

/** Row of a message that has its number. */
export type MessageRow = {
  message_id: string
  organization_id: string
  project_id: string | null
  type: string
  ids: Record<string, string>
  actor: object | null
  data: object
  old: object | null
  created_at: Date
  position: number
}

/** Columns of a `MessageRow`, of the table `outbox` under the name `o`. */
export const MESSAGE_COLUMNS = sql`o.message_id, o.organization_id, o.project_id, o.type, o.ids, o.actor, o.data,
  o.old_data::jsonb as old, o.created_at, o.position`

/** Makes a message from its row. What is too large is left out: first the values before the change, then the data of the event. */
export function messageOf(row: MessageRow): Message {
  const { message_id: messageId, type, position, ids, actor, data, old } = row
  const scope = {
    ...ids,
    organizationId: row.organization_id,
    ...(row.project_id !== null && { projectId: row.project_id }),
    ...(actor !== null && { actor }),
  }
  const candidates = [
    { ...scope, data, ...(old !== null && { old }) },
    { ...scope, data, isCut: true },
  ]
  const fitting = candidates.find(one => Buffer.byteLength(JSON.stringify(one)) <= MAX_DATA_BYTES)
  return {
    messageId: messageId as Message['messageId'],
    type,
    timestamp: wireTime(row.created_at),
    position,
    data: fitting ?? { ...scope, data: {}, isCut: true },
  }
}

/** SQL condition that a message has one of some types. An entry `devices.*` stands for all types of its area. */
export function hasType(
  types: readonly string[] | undefined,
  type: RawBuilder<unknown>,
): RawBuilder<boolean> {
  if (types === undefined) return sql<boolean>`true`
  return sql<boolean>`(${type} = any (${types}::text[]) or split_part(${type}, '.', 1) || '.*' = any (${types}::text[]))`
}
