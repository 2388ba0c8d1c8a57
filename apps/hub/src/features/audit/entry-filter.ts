import { ActionError, type ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { sqlState } from '../../platform/database/client/errors.ts'
import { matchesText } from '../../platform/database/client/page.ts'
import { addressMatches } from '../devices/index.ts'
import type { LogOf } from './log-scope.ts'
import { matchesPerson, membersFirst, type Reader } from './shown-name.ts'

type EntryFilter = Partial<NonNullable<ParsedInput<'audit_QueryAuditLogEvents'>['filter']>>

/** Filter of a log, with ids in place of names. */
export type ResolvedFilter = Omit<EntryFilter, 'actor' | 'text'> & {
  /** Ids of the actors, at most `MAX_FOUND`. */
  actorIds?: string[]
  /** A text to search for, with the ids of the subjects and actors whose names contain it. */
  text?: { text: string; ids: string[] }
}

/** Maximum number of ids of one kind (people, devices, projects or repositories) that a text is resolved to. */
const MAX_FOUND = 200

const INVALID_PARAMETER_VALUE = '22023'

/**
 * Pattern of the ids in the column `actor_id`. Actor filters that match it are ids; all others are searched as names. Rows of actions
 * that were run with a user token have the id of the token's owner.
 */
const ACTOR_ID = /^(u|d|cluster_node)_[1-9A-HJ-NP-Za-km-z]{22}$/

/** Columns of the audit tables by the prefix of the ids that they hold. */
const COLUMNS = {
  u: 'user_id',
  org: 'organization_id',
  p: 'project_id',
  repo: 'repository_id',
  d: 'device_id',
} as const

/** Fields of an entry's data that hold ids of subjects without a column of their own, by the prefix of the id. */
const FIELDS: Record<string, string> = {
  d_c: 'certificateId',
  deployment_id: 'tokenId',
  u_pk: 'tokenId',
  u_session_pk: 'sessionId',
  org_invite: 'invitationId',
  pkg: 'packageId',
  pkg_v: 'versionId',
  repo_a: 'assetId',
}

/** Prefixes of the ids of audit events, audit actions and jobs. */
const DATED = { event: 'audit_ev_', action: 'audit_act_', job: 'job_' } as const

/**
 * Resolves the actor and the text of a filter to ids, so that the query of the log finds its rows by indexes. `of` is the log of one
 * resource. With `of`, devices, projects, repositories and addresses of people are searched only in the organization of that log, and shown
 * names of people everywhere.
 */
export async function resolveFilter(
  db: Db,
  { actor, text, ...filter }: EntryFilter,
  of: LogOf | undefined,
): Promise<ResolvedFilter> {
  if (filter.hours) await requireTimeZone(db, filter.hours.timeZone)
  return {
    ...filter,
    ...(actor !== undefined && {
      actorIds: ACTOR_ID.test(actor) ? [actor] : await peopleIds(db, actor, of),
    }),
    ...(text !== undefined && { text: { text, ids: isId(text) ? [text] : await subjectIds(db, text, of) } }),
  }
}

/** Ids of people whose name or email address contains the given text (`matchesPerson`). */
async function peopleIds(db: Db, text: string, of: LogOf | undefined): Promise<string[]> {
  const rows = await db
    .selectFrom('user as u')
    .where(matchesPerson(text, readerOf(of)))
    .select('u.user_id')
    .orderBy(membersFirst(readerOf(of)))
    .limit(MAX_FOUND)
    .execute()
  return rows.map(row => row.user_id)
}

/** Organization whose members' addresses the reader of a log may search; undefined in the log of the instance. */
function readerOf(of: LogOf | undefined): Reader | undefined {
  return of && { organizationId: of.scope.organizationId }
}

/**
 * Ids of people, devices, projects and repositories whose name, email address, host name or slug contains the given text, and of devices
 * with an IP or MAC address that begins with it. `of` limits devices, projects and repositories to the organization of that log. People of
 * all organizations are found by their shown names, because an actor may have left the organization.
 */
async function subjectIds(db: Db, text: string, of: LogOf | undefined): Promise<string[]> {
  const own = (column: RawBuilder<unknown>): RawBuilder<unknown> =>
    of ? sql`${column} = ${of.scope.organizationId}` : sql`true`
  const byAddress = addressMatches(text).map(
    ({ key, condition }) => sql`
    union all
    (select h.device_id from project p cross join lateral (
        select a.device_id from device_address a
         where a.project_id = p.project_id and ${condition} order by ${key} limit ${MAX_FOUND}) h
      where ${own(sql`p.organization_id`)} limit ${MAX_FOUND})`,
  )
  const { rows } = await sql<{ id: string }>`
    (select user_id as id from "user" u where ${matchesPerson(text, readerOf(of))}
      order by ${membersFirst(readerOf(of))} limit ${MAX_FOUND})
    union all
    (select d.device_id from device d join project p on p.project_id = d.project_id
      where ${own(sql`p.organization_id`)} and ${matchesText(text, sql`d.name`, sql`d.hostname`)} limit ${MAX_FOUND})
    union all
    (select p.project_id from project p
      where ${own(sql`p.organization_id`)} and ${matchesText(text, sql`p.name`)} limit ${MAX_FOUND})
    union all
    (select r.repository_id from repository r
      where ${own(sql`r.organization_id`)} and ${matchesText(text, sql`r.display_name`, sql`r.slug`)} limit ${MAX_FOUND})
    ${sql.join(byAddress, sql` `)}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Prefix of an id: everything before the last underscore of a text that looks like an id. */
function prefixOf(id: string): string | undefined {
  return /^([a-z]+(?:_[a-z]+)*)_[1-9A-HJ-NP-Za-km-z]{22}$/.exec(id)?.[1]
}

function isId(text: string): boolean {
  return prefixOf(text) !== undefined
}

/** SQL condition that the row `a` of an audit table is about the subject with the given id. */
function isAbout(id: string): RawBuilder<boolean> {
  const prefix = prefixOf(id)
  if (prefix !== undefined && Object.hasOwn(COLUMNS, prefix))
    return sql<boolean>`${sql.ref(`a.${COLUMNS[prefix as keyof typeof COLUMNS]}`)} = ${id}`
  const field = prefix === undefined ? undefined : FIELDS[prefix]
  return field === undefined
    ? sql<boolean>`false`
    : sql<boolean>`a.data @> jsonb_build_object(${field}::text, ${id}::text)`
}

/**
 * SQL condition of a filter for the rows `a` of `audit_event` or `audit_action`. `kind` is the column that holds the name of the event or
 * action.
 */
export function matchesEntry(
  kind: 'event' | 'action',
  { types, actorIds, subject, text, since, until, withinSecs, hours }: ResolvedFilter,
): RawBuilder<boolean> {
  const conditions = [
    types?.length ? sql`${sql.ref(`a.${kind}`)} in (${sql.join(types)})` : undefined,
    actorIds &&
      (actorIds.length === 1 ? sql`a.actor_id = ${actorIds[0]}` : sql`a.actor_id = any(${actorIds})`),
    subject === undefined ? undefined : isAbout(subject),
    text && matchesFound(kind, text),
    since === undefined ? undefined : sql`a.created_at >= ${since}::timestamptz`,
    until === undefined ? undefined : sql`a.created_at < ${until}::timestamptz`,
    withinSecs === undefined ? undefined : sql`a.created_at >= now() - make_interval(secs => ${withinSecs})`,
    hours && isWithin(hours),
  ]
  return sql<boolean>`${sql.join([sql`true`, ...conditions.filter(part => part !== undefined)], sql` and `)}`
}

function matchesFound(
  kind: 'event' | 'action',
  { text, ids }: NonNullable<ResolvedFilter['text']>,
): RawBuilder<boolean> {
  const causes = kind === 'event' ? (['event', 'action', 'job'] as const) : (['action'] as const)
  const cause = causes.find(one => text.startsWith(DATED[one]))
  if (cause) return sql<boolean>`${sql.ref(`a.${cause}_id`)} = ${text}`
  if (isId(text)) return sql<boolean>`(${isAbout(text)} or a.actor_id = ${text})`
  return sql<boolean>`(${sql.join(
    [...Object.values(COLUMNS), 'actor_id'].map(column => sql`${sql.ref(`a.${column}`)} = any(${ids})`),
    sql` or `,
  )})`
}

/** SQL condition that the local time of a row is within the given hours of the day. The hours may span midnight. */
function isWithin({ from, to, timeZone }: NonNullable<EntryFilter['hours']>): RawBuilder<boolean> {
  const time = sql`(a.created_at at time zone ${timeZone}::text)::time`
  return from <= to
    ? sql<boolean>`(${time} >= ${from}::time and ${time} < ${to}::time)`
    : sql<boolean>`(${time} >= ${from}::time or ${time} < ${to}::time)`
}

/**
 * Throws `Invalid` for a time zone that PostgreSQL does not know. The status is 409 and not 400, because the schema of the input accepts
 * any text with the characters of a time zone.
 */
async function requireTimeZone(db: Db, timeZone: string): Promise<void> {
  try {
    await sql`select now() at time zone ${timeZone}::text`.execute(db)
  } catch (cause) {
    if (sqlState(cause) !== INVALID_PARAMETER_VALUE) throw cause
    throw new ActionError(
      'Invalid',
      `filter.hours.timeZone: found ${JSON.stringify(timeZone)}, expected a time zone such as Europe/Berlin.`,
      { cause, status: 409 },
    )
  }
}
