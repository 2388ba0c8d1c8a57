import { type Actor, type HandlerOutput, MAX_ACTION_BODY_BYTES, MAX_EVENT_BYTES } from '@muster/actions'
import type { RawJson } from '@muster/actions/exact-json'
import { sql } from 'kysely'
import { clockErrorSecs } from '../../link/telemetry/event-times.ts'
import { mayIn } from '../../platform/access/rights.ts'
import type { Scope } from '../../platform/access/scope.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { rowsWithin } from '../../platform/database/client/page.ts'
import { type Caller, personOf } from '../../platform/pipeline/caller.ts'
import { secsBetween, wireTime } from '../../platform/runtime/times.ts'
import { actorName } from '../audit/index.ts'
import type { Read } from './merge.ts'
import { wireTimeAt } from './place.ts'

type Entry = HandlerOutput<'devices_QueryTimeline'>['entries'][number]
type Content = Entry extends infer One ? (One extends Entry ? Omit<One, CommonField> : never) : never
type CommonField = 'entryId' | 'kind' | 'at' | 'severity' | 'isConnected'
type Of<N extends Read['source']> = Extract<Read, { source: N }>['row']

/** Maximum length, in characters, of the JSON text of a value in an entry. Longer texts are cut. */
const MAX_VALUE_CHARS = 4_096
/** Maximum total size, in bytes, of the events of a page: half of the largest answer. The remaining fields get the other half. */
const MAX_EVENTS_BYTES = MAX_ACTION_BODY_BYTES / 2

/** Number of rows that fit into one answer. A page of large events ends after these rows. */
export async function rowsThatFit(db: Db, deviceId: string, reads: readonly Read[]): Promise<number> {
  const events = rowsOf('event', reads)
  if (events.length * MAX_EVENT_BYTES <= MAX_EVENTS_BYTES) return reads.length
  const { rows } = await sql<{ id: string; bytes: number }>`
    select e.event_id as id, octet_length(e.body::text) + octet_length(e.attributes::text) as bytes
      from ${eventKeys(deviceId, events)}`.execute(db)
  const sizes = new Map(rows.map(row => [row.id, row.bytes]))
  const measured = reads.map(({ source, row }) => ({
    bytes: source === 'event' ? (sizes.get(row.id) ?? 0) : 0,
  }))
  return rowsWithin(MAX_EVENTS_BYTES, measured)
}

/** Reads the content of the rows of a page. Rows that were deleted since the page was read are left out. */
export async function entriesOf(
  db: Db,
  { caller, scope }: { caller: Caller; scope: Scope },
  deviceId: string,
  reads: readonly Read[],
): Promise<Entry[]> {
  const [events, properties, audit, tags] = await Promise.all([
    eventContents(db, deviceId, rowsOf('event', reads)),
    propertyContents(db, deviceId, rowsOf('property', reads)),
    auditContents(db, rowsOf('audit', reads)),
    tagContents(db, caller, scope, rowsOf('tag', reads)),
  ])
  const contentOf = (read: Read): Content | undefined => {
    switch (read.source) {
      case 'connection':
        return connectionContent(read.row)
      case 'event':
        return events.get(read.row.id)
      case 'property':
        return properties.get(keyOf(read.row))
      case 'audit':
        return audit.get(read.row.id)
      case 'tag':
        return tags.get(keyOf(read.row))
    }
  }
  return reads.flatMap(read => {
    const content = contentOf(read)
    const { at, id, kind, severity } = read.row
    const entryId = `${read.source} ${id} ${at}`
    const common = { entryId, kind, at: wireTimeAt(at), severity, isConnected: read.isConnected }
    return content ? [{ ...common, ...content } as Entry] : []
  })
}

function rowsOf<N extends Read['source']>(source: N, reads: readonly Read[]): Of<N>[] {
  return reads.filter(read => read.source === source).map(read => read.row as Of<N>)
}

/** Key of a row by id and time, because several rows may have the same id. */
function keyOf({ id, at }: { id: string; at: string }): string {
  return `${id} ${at}`
}

function connectionContent({ connectionId, nodeId, nodeName, at, change }: Of<'connection'>): Content {
  const secs = (from: string) => secsBetween(new Date(wireTimeAt(from)), new Date(wireTimeAt(at)))
  const common = { connectionId: connectionId as never, nodeId: nodeId as never, nodeName }
  if (change.type === 'disconnected') {
    const { endReason, connectedAt } = change
    return { ...common, type: 'disconnected', endReason, connectedSecs: secs(connectedAt) }
  }
  const { offlineSince } = change
  return { ...common, type: 'connected', offlineSecs: offlineSince && secs(offlineSince) } as Content
}

function eventKeys(deviceId: string, events: readonly Of<'event'>[]) {
  const ids = events.map(event => event.id)
  const days = events.map(event => event.day)
  return sql`unnest(${ids}::text[], ${days}::date[]) as k (id, day)
    join device_event e on e.device_id = ${deviceId} and e.event_id = k.id and e.event_day = k.day`
}

async function eventContents(db: Db, deviceId: string, events: readonly Of<'event'>[]) {
  if (events.length === 0) return new Map<string, Content>()
  const { rows } = await sql<{
    event_id: string
    category: string | null
    body: unknown
    attributes: unknown
    emitted_at: Date
    received_at: Date
    clock_error_secs: number | null
  }>`select e.event_id, e.category, e.body, e.attributes, e.emitted_at, e.received_at,
            ${clockErrorSecs(sql`${deviceId}`)} as clock_error_secs
       from ${eventKeys(deviceId, events)}`.execute(db)
  return new Map(
    rows.map(row => [
      row.event_id,
      {
        type: 'event',
        eventId: row.event_id as never,
        category: row.category ?? undefined,
        body: row.body,
        attributes: row.attributes,
        emittedAt: wireTime(row.emitted_at),
        receivedAt: wireTime(row.received_at),
        clockErrorSecs: row.clock_error_secs ?? undefined,
      } satisfies Content as Content,
    ]),
  )
}

type StateColumns = { value: RawJson | null; bytes: number; is_cut: boolean | null; changed_at: Date }

/** Reads the values before and after the changes. A value of more than `MAX_VALUE_CHARS` is replaced by its beginning as a string. */
async function propertyContents(db: Db, deviceId: string, changes: readonly Of<'property'>[]) {
  if (changes.length === 0) return new Map<string, Content>()
  const { rows } = await sql<
    StateColumns & {
      ordinality: number
      version: number
      actor: unknown
      actor_name: string | null
      token_name: string | null
      before_value: RawJson | null
      before_bytes: number | null
      before_is_cut: boolean | null
      before_changed_at: Date | null
    }
  >`
    with c as materialized (
      select k.ordinality, c.version, ${shown('c')} as value, ${bytes('c')} as bytes, ${isCut('c')} as is_cut, c.changed_at, c.actor,
             ${shown('b')} as before_value, ${bytes('b')} as before_bytes, ${isCut('b')} as before_is_cut,
             b.changed_at as before_changed_at
        from unnest(${changes.map(row => row.name)}::text[], ${changes.map(row => row.at)}::timestamptz[],
                    ${changes.map(row => row.version)}::bigint[]) with ordinality as k (name, at, version)
        join device_property_change c
          on c.device_id = ${deviceId} and c.name = k.name and c.changed_at = k.at and c.version = k.version
        left join lateral (
          select b.value, b.changed_at from device_property_change b
           where b.device_id = ${deviceId} and b.name = k.name and b.changed_at <= k.at
             and (b.changed_at, b.version) < (k.at, k.version)
           order by b.changed_at desc, b.version desc limit 1
        ) b on true
    )
    select c.*, ${actorName(sql`coalesce(c.actor ->> 'userId', c.actor ->> 'deviceId', c.actor ->> 'nodeId')`)},
           ${tokenName('c')} as token_name
      from c`.execute(db)
  return new Map(
    rows.map(row => {
      const { name, id, at } = changes[row.ordinality - 1]!
      const before =
        row.before_changed_at &&
        stateOf({
          value: row.before_value,
          bytes: row.before_bytes ?? 0,
          is_cut: row.before_is_cut,
          changed_at: row.before_changed_at,
        })
      const content = {
        type: 'property' as const,
        name,
        version: row.version,
        ...whoOf(row),
        now: stateOf(row),
        ...(before && { before }),
      }
      return [keyOf({ id, at }), content as Content]
    }),
  )
}

function isCut(table: 'b' | 'c') {
  return sql`length(${sql.ref(`${table}.value`)}::text) > ${MAX_VALUE_CHARS}::integer`
}

function shown(table: 'b' | 'c') {
  const value = sql.ref(`${table}.value`)
  return sql`case when ${isCut(table)}
    then to_json(left(${value}::text, ${MAX_VALUE_CHARS}::integer)) else ${value} end`
}

function bytes(table: 'b' | 'c') {
  return sql`coalesce(octet_length(${sql.ref(`${table}.value`)}::text), 0)`
}

function stateOf({ value, bytes: valueBytes, is_cut, changed_at }: StateColumns) {
  return {
    ...(value !== null && { value }),
    isRemoved: value === null,
    valueBytes,
    ...(is_cut && { isCut: true }),
    changedAt: wireTime(changed_at),
  }
}

function tokenName(table: 'a' | 'c' | 't') {
  return sql<string | null>`(
    select u.name from user_token u where u.token_id = ${sql.ref(`${table}.actor`)} ->> 'tokenId')`
}

function whoOf(row: { actor: unknown; actor_name: string | null; token_name: string | null }) {
  return {
    actor: row.actor as Actor,
    actorName: row.actor_name ?? undefined,
    tokenName: row.token_name ?? undefined,
  }
}

async function auditContents(db: Db, events: readonly Of<'audit'>[]) {
  if (events.length === 0) return new Map<string, Content>()
  const { rows } = await sql<{
    event_id: string
    event: string
    data: Record<string, unknown>
    actor: unknown
    actor_name: string | null
    token_name: string | null
  }>`
    select a.event_id, a.event, a.data, a.actor, ${actorName(sql`a.actor_id`)}, ${tokenName('a')} as token_name
      from audit_event a where a.event_id = any (${events.map(event => event.id)})`.execute(db)
  return new Map(
    rows.map(row => [
      row.event_id,
      { type: 'audit', eventId: row.event_id, event: row.event, data: row.data, ...whoOf(row) } as Content,
    ]),
  )
}

/**
 * Reads the moves of tags. People who may view the repository may read its log, so only they get actor and versions.
 * Administrators of the instance get them only if the device's organization owns the repository, because this read has an audit entry in
 * the device's organization only.
 */
async function tagContents(db: Db, caller: Caller, scope: Scope, moves: readonly Of<'tag'>[]) {
  if (moves.length === 0) return new Map<string, Content>()
  const person = personOf(caller)
  const { rows } = await sql<{
    ordinality: number
    may_read_log: boolean
    actor: unknown
    actor_name: string | null
    token_name: string | null
    version_id: string | null
    version_name: string | null
    before_version_id: string | null
    before_version_name: string | null
  }>`
    select k.ordinality, ${mayIn('view', person?.userId, sql`r.organization_id`)}
             or (${person?.isAdmin ?? false} and r.organization_id = ${scope.organizationId ?? ''})
             as may_read_log,
           t.actor, ${actorName(sql`coalesce(t.actor ->> 'userId', t.actor ->> 'deviceId', t.actor ->> 'nodeId')`)},
           ${tokenName('t')} as token_name, t.version_id, v.name as version_name,
           b.version_id as before_version_id, w.name as before_version_name
      from unnest(${moves.map(row => row.followed.packageId)}::text[], ${moves.map(row => row.followed.tag)}::text[],
                  ${moves.map(row => row.at)}::timestamptz[]) with ordinality as k (package_id, tag, at)
      join package_tag_change t on t.package_id = k.package_id and t.tag = k.tag and t.changed_at = k.at
      join package p on p.package_id = t.package_id
      join repository r on r.repository_id = p.repository_id
      left join lateral (
        select b.version_id from package_tag_change b
         where b.package_id = k.package_id and b.tag = k.tag and b.changed_at < k.at
         order by b.changed_at desc limit 1
      ) b on true
      left join package_version v on v.version_id = t.version_id
      left join package_version w on w.version_id = b.version_id`.execute(db)
  return new Map(
    rows.map(row => {
      const { followed, ...move } = moves[row.ordinality - 1]!
      const details = row.may_read_log && {
        repositoryId: followed.repositoryId,
        packageId: followed.packageId,
        ...(row.before_version_id !== null && {
          from: { versionId: row.before_version_id, name: row.before_version_name ?? undefined },
        }),
        ...(row.version_id !== null && {
          to: { versionId: row.version_id, name: row.version_name ?? undefined },
        }),
        ...whoOf(row),
      }
      return [keyOf(move), { type: 'tag', path: followed.path, ...(details && { details }) } as Content]
    }),
  )
}
