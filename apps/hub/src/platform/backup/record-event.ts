import { type AuditEvents, newDatedId } from '@muster/actions'
import type pg from 'pg'
import { SYSTEM, wireActor } from '../pipeline/caller.ts'

/** Writes an audit event with the columns that every schema has, because commands also run on databases of older releases. */
export async function recordCommandEvent<Event extends keyof AuditEvents>(
  client: pg.Client,
  event: Event,
  data: AuditEvents[Event],
): Promise<void> {
  await client.query('insert into audit_event (event_id, event, actor, data) values ($1, $2, $3, $4)', [
    newDatedId('audit_ev'),
    event,
    JSON.stringify(wireActor(SYSTEM)),
    JSON.stringify(data),
  ])
}
