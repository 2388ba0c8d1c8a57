import { type Actor, MAX_LOG_ROWS, type ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database/client/connection.ts'
import { matchesText, queryPage } from '../database/client/page.ts'
import { wireTime } from '../runtime/times.ts'

type EventsInput = ParsedInput<'audit_QueryAuditLogEvents'>
type ActionsInput = ParsedInput<'audit_QueryAuditLogActions'>

/** Resource whose log is queried: the column of `audit_event` that refers to it, and its id. */
type LogOf = {
  column: 'organization_id' | 'project_id' | 'repository_id' | 'device_id'
  id: string
}

/**
 * Pattern of the ids in the column `actor_id`. Rows of actions that were run with a user token have the id of the token's owner.
 */
const ACTOR_ID = /^(u|d|cluster_node)_[1-9A-HJ-NP-Za-km-z]{22}$/

const SORTS = { createdAt: { by: sql`a.created_at`, type: 'timestamptz' } } as const

/**
 * SQL that selects the current name of an actor: display name or email of a person, member or not, else the name of a device or
 * node.
 */
export function actorName(actorId: RawBuilder<unknown>) {
  return sql<string | null>`coalesce(
    (select coalesce(nullif(u.display_name, ''), u.email) from "user" u where u.user_id = ${actorId}),
    (select d.name from device d where d.device_id = ${actorId}),
    (select n.name from cluster_node n where n.node_id = ${actorId}))`.as('actor_name')
}

const ACTOR_NAME = actorName(sql`a.actor_id`)

/**
 * SQL that selects the name of the actor's user token. Null for a deleted token and for deployment tokens, which are in another
 * table.
 */
const TOKEN_NAME = sql<string | null>`(
  select t.name from user_token t where t.token_id = a.actor ->> 'tokenId')`.as('token_name')

/** Lists audit events of the instance or of one resource, newest first, at most `MAX_LOG_ROWS` if there is no `limit`. */
export async function queryAuditEvents(
  db: Db,
  { filter, limit = MAX_LOG_ROWS, cursor, sort }: EventsInput,
  of?: LogOf,
) {
  let query = db
    .selectFrom('audit_event as a')
    .where(matches('event', filter))
    .select([
      'a.event_id',
      'a.event',
      'a.actor',
      'a.data',
      'a.action_id',
      'a.job_id',
      'a.created_at',
      ACTOR_NAME,
      TOKEN_NAME,
    ])
  if (of) query = query.where(`a.${of.column}`, '=', of.id)
  const page = { limit, cursor, sort, countTotal: false }
  const { rows, ...rest } = await queryPage(query, page, SORTS, sql`a.event_id`, '-createdAt')
  return {
    events: rows.map(row => ({
      eventId: row.event_id,
      event: row.event,
      ...common(row),
      ...(row.action_id !== null && { action: { actionId: row.action_id } }),
      ...(row.job_id !== null && { job: { jobId: row.job_id } }),
    })),
    ...rest,
  }
}

/** Lists the audited actions of the instance, newest first, at most `MAX_LOG_ROWS` if there is no `limit`. */
export async function queryAuditActions(
  db: Db,
  { filter, limit = MAX_LOG_ROWS, cursor, sort }: ActionsInput,
) {
  let query = db
    .selectFrom('audit_action as a')
    .where(matches('action', filter))
    .select([
      'a.action_id',
      'a.action',
      'a.actor',
      'a.data',
      'a.status',
      'a.created_at',
      ACTOR_NAME,
      TOKEN_NAME,
    ])
  if (filter?.statuses?.length) query = query.where('a.status', 'in', filter.statuses)
  const page = { limit, cursor, sort, countTotal: false }
  const { rows, ...rest } = await queryPage(query, page, SORTS, sql`a.action_id`, '-createdAt')
  return {
    actions: rows.map(row => ({
      actionId: row.action_id,
      action: row.action,
      ...common(row),
      status: row.status as NonNullable<NonNullable<ActionsInput['filter']>['statuses']>[number],
    })),
    ...rest,
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

/**
 * Makes the SQL condition for the filters that the logs of events and of actions share. `a` is the table alias. `types` filters
 * the column that `kind` names.
 */
function matches(
  kind: 'event' | 'action',
  { types, actor, since, until }: Partial<NonNullable<EventsInput['filter']>> = {},
): RawBuilder<boolean> {
  const conditions = [
    types?.length ? sql`${sql.ref(`a.${kind}`)} in (${sql.join(types)})` : undefined,
    actor === undefined
      ? undefined
      : ACTOR_ID.test(actor)
        ? sql`a.actor_id = ${actor}`
        : sql`a.actor_id in (select user_id from "user" u where ${matchesText(actor, sql`u.display_name`, sql`u.email`)})`,
    since === undefined ? undefined : sql`a.created_at >= ${since}::timestamptz`,
    until === undefined ? undefined : sql`a.created_at < ${until}::timestamptz`,
  ]
  return sql<boolean>`${sql.join([sql`true`, ...conditions.filter(part => part !== undefined)], sql` and `)}`
}
