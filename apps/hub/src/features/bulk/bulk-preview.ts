import { ActionError, type BulkActionKind, MAX_BULK_ITEMS, newId, type ParsedInput } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../platform/access/authorize.ts'
import { runBrief } from '../../platform/database/client/brief.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { isCancelled } from '../../platform/database/client/errors.ts'
import type { Caller, PersonCaller } from '../../platform/pipeline/caller.ts'
import type { QueryContext } from '../../platform/pipeline/command-context.ts'
import { type DeviceFilter, matchesFilter } from '../devices/index.ts'
import { filterOfView } from '../views/index.ts'
import { BULK_KINDS } from './kinds.ts'

/** Devices (by id, filter or saved view) or certificates (by id) that a person has selected. */
export type Selection = ParsedInput<'devices_CreateBulkDecision'>['selection']

/** A selection whose filter is resolved to ids. */
export type Resolved = { of: 'devices' | 'certificates'; ids: string[]; filter: DeviceFilter | undefined }

/** Maximum number of devices whose names are in the answer with a prepared bulk action. */
const NAMED = 5

/** Maximum number of previews of a person in a project that were made with user tokens. */
const TOKEN_PREVIEWS = 5

/** Maximum duration of the query that finds the devices of a filter, in milliseconds. It runs as a long query. */
const FILTER_MS = 10_000

/**
 * Resolves the filter of a selection to the ids of at most `MAX_BULK_ITEMS` devices. A decision affects only devices with a pending
 * certificate, so the others do not count. Runs outside of the transaction of the command, because PostgreSQL plans the filter for its
 * actual values. Ends when `signal` aborts. Throws `Invalid` when more devices match, and after `FILTER_MS`.
 */
export async function resolveSelection(
  { db, signal, caller }: Pick<QueryContext, 'db' | 'signal' | 'caller'>,
  kind: BulkActionKind,
  projectId: string,
  selection: Selection,
): Promise<Resolved> {
  if (selection.kind === 'devices')
    return { of: 'devices', ids: [...new Set(selection.deviceIds)], filter: undefined }
  if (selection.kind === 'certificates')
    return { of: 'certificates', ids: [...new Set(selection.certificateIds)], filter: undefined }
  const filter = await filterOf(db, caller, projectId, selection)
  const { has, items } = BULK_KINDS[kind]
  const rows = await runBrief(
    db,
    signal,
    async tx =>
      tx
        .selectFrom('device as d')
        .where('d.project_id', '=', projectId)
        .where(await matchesFilter(tx, filter, projectId))
        .$if(has !== undefined, query => query.where(has!))
        .select('d.device_id')
        .orderBy('d.first_seen', 'desc')
        .orderBy('d.device_id')
        .limit(MAX_BULK_ITEMS + 1)
        .execute(),
    FILTER_MS,
  ).catch(error => {
    if (!isCancelled(error)) throw error
    throw tooSlow(error)
  })
  if (rows.length > MAX_BULK_ITEMS) throw tooMany(has ? 'devices with a pending certificate' : items)
  return { of: 'devices', ids: rows.map(row => row.device_id), filter }
}

/** Filter of a selection: its own, or the conditions of its view. */
export async function filterOf(
  db: Db,
  caller: Caller,
  projectId: string,
  selection: Extract<Selection, { kind: 'filter' | 'view' }>,
): Promise<DeviceFilter | undefined> {
  return selection.kind === 'view' ? filterOfView(db, caller, projectId, selection.viewId) : selection.filter
}

/** Stores a preview: a bulk action with its items that waits for its start. Deletes the person's other previews in this project. */
export async function createPreview(
  tx: Tx,
  caller: Caller,
  kind: BulkActionKind,
  projectId: string,
  { of, ids, filter }: Resolved,
) {
  if (caller.actor !== 'User') throw refusal()
  const { userId, sessionId } = caller
  await removePreviews(tx, caller, projectId)
  const bulkActionId = newId('bulk')
  const { itemsOf, keepsFilter, items: itemWords } = BULK_KINDS[kind]
  await tx
    .insertInto('bulk_action')
    .values({
      bulk_action_id: bulkActionId,
      project_id: projectId,
      kind,
      user_id: userId,
      session_id: sessionId,
      filter: keepsFilter && filter ? JSON.stringify(filter) : null,
    })
    .execute()
  await sql`
    insert into bulk_action_item (bulk_action_id, position, device_id, certificate_id, name, hostname, token_id, remote_address)
    select ${bulkActionId}, row_number() over (order by found.place, found.first_seen, found.certificate_id) - 1, found.device_id,
           found.certificate_id, found.name, found.hostname, found.token_id, found.remote_address
      from (${itemsOf!({ projectId, of, ids })}) found
     limit ${MAX_BULK_ITEMS + 1}`.execute(tx)
  const { rows } = await sql<Counts>`
    update bulk_action b set item_count = n.items from (
      select count(*) as items, count(distinct i.device_id) as devices,
             count(distinct i.device_id) filter (where d.is_connected) as connected
        from bulk_action_item i left join device d using (device_id) where i.bulk_action_id = ${bulkActionId}
    ) n where b.bulk_action_id = ${bulkActionId}
    returning n.items, n.devices, n.connected`.execute(tx)
  const { items, devices, connected } = rows[0]!
  if (items > MAX_BULK_ITEMS) throw tooMany(itemWords)
  const first = await tx
    .selectFrom('bulk_action_item')
    .where('bulk_action_id', '=', bulkActionId)
    .select(['device_id', 'name', 'hostname'])
    .orderBy('position')
    .limit(NAMED)
    .execute()
  return {
    bulkActionId,
    itemCount: items,
    deviceCount: devices,
    connectedCount: connected,
    leftOutCount: ids.length - (of === 'certificates' ? items : devices),
    first: first.map(row => ({
      deviceId: row.device_id,
      name: row.name ?? undefined,
      hostname: row.hostname ?? undefined,
    })),
  }
}

/**
 * Removes earlier previews of a person in a project before a new one is made: all that the person made with a session, for a person looks at
 * one. Of those made with a user token, programs that run at once may each have one, so the newest `TOKEN_PREVIEWS` stay.
 */
export async function removePreviews(tx: Tx, caller: PersonCaller, projectId: string): Promise<void> {
  const isToken = caller.actor === 'UserToken'
  const previews = tx
    .selectFrom('bulk_action')
    .where('project_id', '=', projectId)
    .where('user_id', '=', caller.userId)
    .where('status', '=', 'Prepared')
    .where('token_id', isToken ? 'is not' : 'is', null)
    .select('bulk_action_id')
    .orderBy('created_at', 'desc')
    .orderBy('bulk_action_id')
    .offset(isToken ? TOKEN_PREVIEWS - 1 : 0)
  await tx.deleteFrom('bulk_action').where('bulk_action_id', 'in', previews).execute()
}

type Counts = { items: number; devices: number; connected: number }

function tooSlow(cause: unknown): ActionError {
  return new ActionError(
    'Invalid',
    `Finding the devices of the filter took longer than ${FILTER_MS / 1000} s, expected less. Narrow the filter.`,
    { status: 409, cause },
  )
}

function tooMany(what: string): ActionError {
  return new ActionError(
    'Invalid',
    `More than ${MAX_BULK_ITEMS.toLocaleString('en')} ${what} are selected, expected at most that many. Narrow the filter.`,
  )
}
