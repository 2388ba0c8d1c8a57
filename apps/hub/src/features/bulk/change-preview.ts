import { ActionError, type ActionOutput, type BulkActionKind, newId } from '@muster/actions'
import { sql } from 'kysely'
import { refusal, requirePerson } from '../../platform/access/authorize.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import { type Resolved, removePreviews } from './bulk-preview.ts'
import type { Change } from './changes/change.ts'
import { type PlannedItem, readDevices, storeItems } from './changes/plan.ts'

/** What a preview says of changes. */
type ChangePreview = ActionOutput<'devices_GetBulkPreview'>

/** Number of devices and rows that a preview names of each kind. */
const NAMED = 5

/** Creates a bulk action of changes, without items. Resolves to its id. */
export async function createChange(
  tx: Tx,
  caller: Caller,
  kind: BulkActionKind,
  projectId: string,
  { change, undoes }: { change?: object; undoes?: string },
): Promise<string> {
  const person = requirePerson(caller)
  await removePreviews(tx, person, projectId)
  const bulkActionId = newId('bulk')
  await tx
    .insertInto('bulk_action')
    .values({
      bulk_action_id: bulkActionId,
      project_id: projectId,
      kind,
      user_id: person.userId,
      session_id: person.actor === 'User' ? person.sessionId : null,
      token_id: person.actor === 'UserToken' ? person.tokenId : null,
      change: change ? JSON.stringify(change) : null,
      undoes: undoes ?? null,
    })
    .execute()
  return bulkActionId
}

/** Stores the preview of a change of selected devices. `plan` gets each device with its place in the selection, the first one 0. */
export async function previewChange(
  tx: Tx,
  caller: Caller,
  kind: BulkActionKind,
  projectId: string,
  { ids }: Resolved,
  {
    change,
    plan,
  }: { change: object; plan: (device: PlannedItem['device'], place: number) => PlannedItem['plan'] },
): Promise<ChangePreview> {
  const bulkActionId = await createChange(tx, caller, kind, projectId, { change })
  const devices = await readDevices(tx, projectId, ids)
  const present = ids.flatMap(id => devices.get(id) ?? [])
  const items = present.map((device, position) => ({ position, device, plan: plan(device, position) }))
  const { itemCount, skippedCount } = await storeItems(tx, bulkActionId, items)
  await tx
    .updateTable('bulk_action')
    .set({
      item_count: itemCount,
      skipped_count: skippedCount,
      left_out_count: ids.length - itemCount,
    })
    .where('bulk_action_id', '=', bulkActionId)
    .execute()
  return readPreview(tx, projectId, bulkActionId)
}

type Named = { device_id: string; name: string | null; hostname: string | null }
type ProblemRow = { row_number: number; key: string; problem: string; message: string | null }

/** Reads the preview of a change. Throws `Forbidden` if the project has no such preview, `Invalid` (409) if it was started. */
export async function readPreview(db: Db, projectId: string, bulkActionId: string): Promise<ChangePreview> {
  const action = await db
    .selectFrom('bulk_action')
    .where('bulk_action_id', '=', bulkActionId)
    .where('project_id', '=', projectId)
    .select(['kind', 'status', 'item_count', 'left_out_count', 'row_count'])
    .executeTakeFirst()
  if (!action) throw refusal()
  if (action.status !== 'Prepared')
    throw new ActionError('Invalid', 'This bulk action was started already: read its state instead.', {
      status: 409,
    })
  const items = sql`bulk_action_item i left join device d on d.device_id = i.device_id where i.bulk_action_id = ${bulkActionId}`
  const { rows: counted } = await sql<{ changed: number; connected: number; shared: number }>`
    select count(*)::int as changed, (count(*) filter (where is_connected))::int as connected,
           coalesce((select sum(n) from (
             select count(*) as n from bulk_action_item i, jsonb_array_elements(i.change) c
              where i.bulk_action_id = ${bulkActionId} and i.outcome is null and not c ? 'label' and c ? 'after'
              group by c ->> 'after' having count(*) > 1) s), 0)::int as shared
      from (select d.is_connected from ${items} and i.outcome is null) o`.execute(db)
  const { rows: first } = await sql<Named & { is_connected: boolean; change: Change[] }>`
    select i.device_id, i.name, i.hostname, coalesce(d.is_connected, false) as is_connected, i.change
      from ${items} and i.outcome is null order by i.position limit ${NAMED}`.execute(db)
  const { rows: excluded } = await sql<Named & { reason: string; count: number }>`
    select reason, device_id, name, hostname, count from (
      select i.reason, i.device_id, i.name, i.hostname, i.position, count(*) over (partition by i.reason)::int as count,
             row_number() over (partition by i.reason order by i.position) as place
        from bulk_action_item i where i.bulk_action_id = ${bulkActionId} and i.outcome = 'Skipped'
    ) s where place <= ${NAMED} order by count desc, reason, position`.execute(db)
  const { changed, connected, shared } = counted[0]!
  const isImport = action.kind === 'Import'
  return {
    bulkActionId: bulkActionId as never,
    itemCount: action.item_count,
    changeCount: changed,
    connectedCount: connected,
    leftOutCount: action.left_out_count,
    first: first.map(row => ({ ...namesOf(row), isConnected: row.is_connected, changes: row.change })),
    excluded: grouped(excluded, ({ reason }) => reason).map(([reason, rows]) => ({
      reason: reason as never,
      deviceCount: rows[0]!.count,
      first: rows.map(namesOf),
    })),
    sharedNameCount: shared,
    ...(isImport && { rowCount: action.row_count, problems: await readProblems(db, bulkActionId) }),
  }
}

async function readProblems(db: Db, bulkActionId: string): Promise<ChangePreview['problems']> {
  const { rows } = await sql<ProblemRow & { count: number }>`
    select row_number, key, problem, message, count from (
      select p.*, count(*) over (partition by p.problem)::int as count,
             row_number() over (partition by p.problem order by p.position) as place
        from bulk_import_problem p where p.bulk_action_id = ${bulkActionId}
    ) s where place <= ${NAMED} order by count desc, problem, position`.execute(db)
  return grouped(rows, ({ problem }) => problem).map(([problem, of]) => ({
    problem: problem as never,
    rowCount: of[0]!.count,
    first: of.map(problemRow),
  }))
}

/** A row of an import that changes no device, as answers have it. */
export function problemRow({ row_number: row, key, problem, message }: ProblemRow) {
  return { row, key, problem: problem as never, message: message ?? undefined }
}

const namesOf = (row: Named) => ({
  deviceId: row.device_id as never,
  name: row.name ?? undefined,
  hostname: row.hostname ?? undefined,
})

/** Rows by their group, groups in the order of their first rows. */
function grouped<Row>(rows: readonly Row[], of: (row: Row) => string): [string, Row[]][] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(of(row))
    if (group) group.push(row)
    else groups.set(of(row), [row])
  }
  return [...groups]
}
