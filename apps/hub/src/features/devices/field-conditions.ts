import type { ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { matchesText } from '../../platform/database/client/page.ts'

type Filter = NonNullable<ParsedInput<'projects_QueryDevices'>['filter']>
type Condition = NonNullable<Filter['fields']>[number]
type UpdateCondition = Exclude<Condition, { operator: 'less' | 'greater' }>

/** Columns of `device_update` by the field of a condition. */
const UPDATE_COLUMNS = { version: sql`u.current_version`, update: sql`u.state` }

/** End of the last connection of a device that is not connected. */
const LAST_END = sql`(
  select coalesce(c.ended_at, c.connected_at) from device_connection c where c.device_id = d.device_id
   order by c.connected_at desc limit 1)`

/** Condition on a column of the device list that is not a property. The surrounding query must use the alias `d` for `device`. */
export function matchesField(condition: Condition): RawBuilder<boolean> {
  const { operator } = condition
  if (operator === 'less' || operator === 'greater') return matchesLastSeenAgo(operator, condition.value)
  if (condition.field !== 'lastSeen') return matchesUpdate(condition)
  const wasSeen = sql<boolean>`(d.is_connected or d.last_connected_at is not null)`
  return operator === 'exists' ? wasSeen : sql<boolean>`not ${wasSeen}`
}

function matchesUpdate(condition: UpdateCondition): RawBuilder<boolean> {
  const column = UPDATE_COLUMNS[condition.field as keyof typeof UPDATE_COLUMNS]
  const isOpposite = condition.operator === 'absent' || condition.operator === 'notEquals'
  return sql<boolean>`${isOpposite ? sql`not` : sql``} exists (
    select from device_update u where u.device_id = d.device_id and ${matchesColumn(condition, column)})`
}

function matchesColumn(condition: UpdateCondition, column: RawBuilder<unknown>): RawBuilder<boolean> {
  switch (condition.operator) {
    case 'equals':
    case 'notEquals':
      return condition.field === 'update'
        ? sql`lower(${column}) = lower(${condition.value})`
        : sql`${column} = ${condition.value}`
    case 'contains':
      return matchesText(condition.value, column)
    default:
      return sql`${column} is not null`
  }
}

/**
 * Condition on the time since a device was last seen. A connected device is seen at this moment. A device that was never connected
 * matches neither operator.
 */
function matchesLastSeenAgo(operator: 'less' | 'greater', secs: number): RawBuilder<boolean> {
  const start = sql`now() - make_interval(secs => ${secs})`
  if (operator === 'less') return sql`(d.is_connected or ${LAST_END} > ${start})`
  // The device's row has only the beginning of its last connection. The end is looked up, but only for devices whose connection began
  // long ago.
  return sql`(not d.is_connected and d.last_connected_at < ${start} and ${LAST_END} < ${start})`
}
