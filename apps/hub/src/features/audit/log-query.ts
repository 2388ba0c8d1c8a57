import { type Actor, MAX_LOG_ROWS, type ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { readSealing } from '../../platform/audit/sealing.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { cutPage, type RowPlace, readCursor } from '../../platform/database/client/page.ts'
import { wireTime } from '../../platform/runtime/times.ts'
import { matchesEntry, type ResolvedFilter, resolveFilter } from './entry-filter.ts'
import type { LogOf } from './log-scope.ts'
import { SHOWN_NAME } from './shown-name.ts'
import { findSubjects } from './subjects.ts'

type EventsInput = ParsedInput<'audit_QueryAuditLogEvents'>
type ActionsInput = ParsedInput<'audit_QueryAuditLogActions'>
type ActionStatus = NonNullable<NonNullable<ActionsInput['filter']>['statuses']>[number]

/**
 * SQL that selects the current name of an actor: the display name or email address of a person, who need not be a member, else the name
 * of a device or node.
 */
export function actorName(actorId: RawBuilder<unknown>) {
  return sql<string | null>`coalesce(
    (select ${SHOWN_NAME} from "user" u where u.user_id = ${actorId}),
    (select d.name from device d where d.device_id = ${actorId}),
    (select n.name from cluster_node n where n.node_id = ${actorId}))`.as('actor_name')
}

/** Names of people, devices and nodes by id. An id without a name is absent. */
export async function actorNames(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: string; actor_name: string | null }>`
    select k.id, ${actorName(sql`k.id`)} from unnest(${[...new Set(ids)]}::text[]) as k (id)`.execute(db)
  return new Map(rows.flatMap(({ id, actor_name }) => (actor_name === null ? [] : [[id, actor_name]])))
}

const ACTOR_NAME = actorName(sql`a.actor_id`)

/**
 * SQL that selects the name of the actor's user token. Null for a deleted token and for deployment tokens, which are in another
 * table.
 */
const TOKEN_NAME = sql<string | null>`(
  select t.name from user_token t where t.token_id = a.actor ->> 'tokenId')`.as('token_name')

type EntryRow = CommonColumns &
  RowPlace & {
    id: string
    name: string
    action_id: string | null
    job_id: string | null
    status: ActionStatus | null
    reason: string | null
    old_data: { parse(): unknown } | null
    address: string | null
    browser: string | null
    organization_id: string | null
    project_id: string | null
    repository_id: string | null
    device_id: string | null
    user_id: string | null
    seal_no: number | null
    form: number | null
    sealed_at: Date | null
  }

/**
 * Lists audit events of the instance or of one resource, newest first, at most `MAX_LOG_ROWS` if there is no `limit`. `outcome` decides
 * whether the list also has failed actions, or only failed actions.
 */
export async function queryAuditEvents(
  db: Db,
  { filter, limit = MAX_LOG_ROWS, cursor, sort = '-createdAt', outcome = 'Events', names }: EventsInput,
  of?: LogOf,
) {
  const resolved = await resolveFilter(db, filter ?? {}, of)
  const query = entries(resolved, { outcome, limit, cursor, sort }, of)
  const { rows, ...rest } = cutPage((await query.execute(db)).rows, limit, sort)
  const mayTrace = of?.scope.rights?.has('administer') ?? false
  return {
    events: rows.map(row => entryOf(row, mayTrace)),
    ...rest,
    ...(names && { subjects: await findSubjects(db, rows, of) }),
    ...(names && cursor === undefined && { sealing: await readSealing(db, of === undefined) }),
  }
}

type EntryPage = {
  /** `Actions` selects all actions. With `statuses`, it selects only actions with one of these statuses. */
  outcome: NonNullable<EventsInput['outcome']> | 'Actions'
  statuses?: readonly ActionStatus[] | undefined
  limit: number
  cursor?: string | undefined
  sort: string
}

/**
 * Statement that reads one page of events and failed actions. Each table contributes at most a page of rows, in the order of an index.
 * Names and seals (signed hashes) are looked up for the rows of the page only.
 */
export function entries(
  filter: ResolvedFilter,
  { outcome, statuses, limit, cursor, sort }: EntryPage,
  of: LogOf | undefined,
): RawBuilder<EntryRow> {
  const after = cursor === undefined ? undefined : readCursor(cursor, sort)
  const isDescending = sort.startsWith('-')
  const part = (kind: 'event' | 'action'): RawBuilder<unknown> => {
    const id = sql.ref(`a.${kind}_id`)
    const conditions = [
      matchesEntry(kind, filter),
      of && sql`${sql.ref(`a.${of.column}`)} = ${of.id}`,
      kind === 'action' && outcome !== 'Actions' && sql`a.status in ('Failed', 'Rejected', 'Panicked')`,
      statuses?.length && sql`a.status in (${sql.join(statuses)})`,
      after &&
        (isDescending
          ? sql`(a.created_at, ${id}) < (${after[0]}::timestamptz, ${after[1]})`
          : sql`(a.created_at, ${id}) > (${after[0]}::timestamptz, ${after[1]})`),
    ]
    return sql`(
      select ${kind === 'event' ? EVENT_COLUMNS : ACTION_COLUMNS}
        from ${sql.table(`audit_${kind}`)} a
       where ${sql.join(conditions.filter(Boolean), sql` and `)}
       order by ${isDescending ? sql`a.created_at desc, ${id} desc` : sql`a.created_at, ${id}`}
       limit ${limit + 1})`
  }
  const parts = [
    ...(outcome === 'Failed' || outcome === 'Actions' ? [] : [part('event')]),
    ...(outcome === 'Events' ? [] : [part('action')]),
  ]
  return sql<EntryRow>`
    select a.*, a.created_at::text as "__key", a.id as "__id", s.form, s.sealed_at, ${ACTOR_NAME}, ${TOKEN_NAME}
      from (select * from (${sql.join(parts, sql` union all `)}) u
             order by ${isDescending ? sql`created_at desc, id desc` : sql`created_at, id`} limit ${limit + 1}) a
      left join audit_seal s on s.seal_no = a.seal_no
     order by ${isDescending ? sql`a.created_at desc, a.id desc` : sql`a.created_at, a.id`}`
}

const SHARED_COLUMNS = sql`a.actor, a.actor_id, a.data, a.created_at, a.seal_no, a.address, a.browser,
  a.organization_id, a.project_id, a.repository_id, a.device_id, a.user_id`

const EVENT_COLUMNS = sql`a.event_id as id, a.event as name, a.action_id, a.job_id, null::text as status, null::text as reason,
  a.old_data, ${SHARED_COLUMNS}`

const ACTION_COLUMNS = sql`a.action_id as id, a.action as name, a.action_id, null::text as job_id, a.status, a.reason,
  null::json as old_data, ${SHARED_COLUMNS}`

/**
 * Converts a row to the form of the API. `mayTrace` adds IP address and browser. Fields that the row's seal does not cover are omitted: an
 * older node of the cluster may have sealed the row in form 1, which has fewer fields.
 */
function entryOf(row: EntryRow, mayTrace: boolean) {
  const hasFacts = row.form !== 1
  const { status, reason, old_data: old } = row
  return {
    eventId: row.id,
    event: row.name,
    ...common(row),
    ...(row.action_id !== null && { action: { actionId: row.action_id } }),
    ...(row.job_id !== null && { job: { jobId: row.job_id } }),
    ...(status !== null && { status, ...ownersOf(row) }),
    ...(hasFacts && {
      reason: reason ?? undefined,
      old: old === null ? undefined : (old.parse() as Record<string, unknown>),
      ...(mayTrace && { address: row.address ?? undefined, browser: row.browser ?? undefined }),
    }),
    ...sealOf(row),
  }
}

function sealOf({ seal_no: sealNo, sealed_at: sealedAt }: EntryRow) {
  return sealNo !== null && sealedAt !== null ? { seal: { sealNo, sealedAt: wireTime(sealedAt) } } : {}
}

/** Ids of the resource of a failed action. The data of the action may not contain these ids. */
function ownersOf({ project_id: projectId, repository_id: repositoryId, device_id: deviceId }: EntryRow) {
  const owners = {
    ...(projectId !== null && { projectId }),
    ...(repositoryId !== null && { repositoryId }),
    ...(deviceId !== null && { deviceId }),
  }
  return Object.keys(owners).length > 0 ? { owners } : {}
}

/** Lists the audited actions of the instance, newest first, at most `MAX_LOG_ROWS` if there is no `limit`. */
export async function queryAuditActions(
  db: Db,
  { filter, limit = MAX_LOG_ROWS, cursor, sort = '-createdAt', names }: ActionsInput,
) {
  const { statuses, ...shared } = filter ?? {}
  const resolved = await resolveFilter(db, shared, undefined)
  const query = entries(resolved, { outcome: 'Actions', statuses, limit, cursor, sort }, undefined)
  const { rows, ...rest } = cutPage((await query.execute(db)).rows, limit, sort)
  return {
    actions: rows.map(row => ({
      actionId: row.id,
      action: row.name,
      ...common(row),
      status: row.status!,
      ...ownersOf(row),
      reason: row.reason ?? undefined,
      ...sealOf(row),
    })),
    ...rest,
    ...(names && { subjects: await findSubjects(db, rows, undefined) }),
    ...(names && cursor === undefined && { sealing: await readSealing(db, true) }),
  }
}

type CommonColumns = {
  actor: unknown
  actor_name: string | null
  token_name: string | null
  data: unknown
  created_at: Date
}

function common({ actor, actor_name, token_name, data, created_at }: CommonColumns) {
  return {
    actor: actor as Actor,
    actorName: actor_name ?? undefined,
    tokenName: token_name ?? undefined,
    data: data as Record<string, unknown>,
    createdAt: wireTime(created_at),
  }
}
