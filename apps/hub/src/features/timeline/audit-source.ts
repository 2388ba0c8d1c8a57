import type { TimelineKind } from '@muster/actions'
import { sql } from 'kysely'
import { matchesText } from '../../platform/database/client/page.ts'
import { matchesPerson } from '../audit/index.ts'
import type { Reader } from './budget.ts'
import { type At, atOf, comesAfter, type Start } from './place.ts'
import { type Search, type Source, type SourceRow, startBelow } from './source.ts'
import { jsonContains } from './text-search.ts'

type Row = { at: At; id: string; event: string; is_person: boolean; is_known: boolean; is_match: boolean }

/**
 * Maximum time between the change of a property and the audit event of the same command. Both are written in one transaction. Commands on
 * the same property wait for each other, so no event of another command lies between the two.
 */
const SAME_COMMAND = '60 s'

/**
 * Reads the audit events of a device: actions of people, and changes of its certificates. If a person set or removed a property and its
 * history has the change, the event is left out: the timeline shows the change with both values.
 */
export function auditSource(
  reader: Reader,
  rank: number,
  { deviceId, organizationId, text, category, since }: Search,
  first: Start | undefined,
): Source<SourceRow> {
  let start = first
  const isMatch =
    category !== undefined
      ? sql`false`
      : text === undefined
        ? sql`true`
        : sql`(${matchesText(text, sql`a.event`)} or ${jsonContains(text, sql`a.data`)}
            or exists (select from "user" u where u.user_id = a.actor_id
                         and ${matchesPerson(text, { organizationId })}))`
  return {
    rank,
    async next(limit) {
      for (;;) {
        const atMost = reader.rows(limit)
        const rows = await reader.read(sql<Row>`
          with a as materialized (
            select * from audit_event a
             where a.device_id = ${deviceId} and ${comesAfter(start, sql`a.created_at`, sql`a.event_id`)}
               and ${since === undefined ? sql`true` : sql`a.created_at >= ${since}::timestamptz`}
             order by a.created_at desc, a.event_id desc limit ${atMost}
          ), change as materialized (
            select a.event_id, c.name, c.changed_at
              from a cross join lateral (
                select c.name, c.changed_at from device_property_change c
                 where c.device_id = ${deviceId} and c.name = a.data ->> 'propertyName' and c.actor = a.actor
                   and c.changed_at <= a.created_at and c.changed_at > a.created_at - ${SAME_COMMAND}::interval
                 order by c.changed_at desc limit 1
              ) c
             where a.event in ('devices_PropertySet', 'devices_PropertyRemoved')
          )
          select ${atOf(sql`a.created_at`)} as at, a.event_id as id, a.event,
                 a.actor ->> 'userId' is not null as is_person,
                 exists (
                   select from change c
                    where c.event_id = a.event_id
                      and not exists (
                        select from audit_event b
                         where b.device_id = ${deviceId} and b.created_at >= c.changed_at and b.created_at < a.created_at
                           and b.event in ('devices_PropertySet', 'devices_PropertyRemoved')
                           and b.data ->> 'propertyName' = c.name)) as is_known,
                 ${isMatch} as is_match
            from a
           order by a.created_at desc, a.event_id desc`)
        const all = rows.map(row => ({
          ...row,
          kind: kindOf(row),
          severity: row.event === LIMIT_EVENT ? ('Warning' as const) : ('Info' as const),
          isMatch: row.is_match,
        }))
        start = startBelow(all, start)
        const found = all.filter(row => !row.is_known)
        const isEnd = rows.length < atMost
        if (found.length > 0 || isEnd) return { rows: found, isEnd }
      }
    },
  }
}

const LIMIT_EVENT = 'limits_Reached'

/**
 * Kind of an audit event in a timeline. A limit that the device has hit and machines that share its identity count as `connection`, the
 * device's enrolment as `certificate`, and any other change that no person made, such as a rename by the device, as `property`.
 */
function kindOf({ event, is_person }: Row): TimelineKind {
  if (event.startsWith('devices_Certificate')) return 'certificate'
  if (is_person) return 'person'
  if (event === LIMIT_EVENT || event === 'devices_IdentityShared') return 'connection'
  return event === 'devices_Created' ? 'certificate' : 'property'
}
