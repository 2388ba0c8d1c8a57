import type { ParsedInput } from '@muster/actions'
import { LIST_FIELDS } from '@muster/predicates'
import { type RawBuilder, sql } from 'kysely'
import { matchesText } from '../../platform/database/client/page.ts'
import { LAST_END, UPDATE_SQL } from './device-sql.ts'

type Filter = NonNullable<ParsedInput<'projects_QueryDevices'>['filter']>
type Condition = NonNullable<Filter['fields']>[number]
type LastSeenCondition = { field: 'lastSeen'; operator: 'less' | 'greater'; value: number }
type TextCondition = Exclude<Condition, { operator: 'less' | 'greater' }>

/** Condition on a column of the device list that is not a property. The surrounding query must use the alias `d` for `device`. */
export function matchesField(condition: Condition): RawBuilder<boolean> {
  const { operator } = condition
  if (operator === 'less' || operator === 'greater') return matchesLastSeenAgo(condition)
  if (condition.field !== 'lastSeen') return matchesUpdate(condition.field, condition)
  const wasSeen = sql<boolean>`(d.is_connected or d.last_connected_at is not null)`
  return operator === 'exists' ? wasSeen : sql<boolean>`not ${wasSeen}`
}

function matchesUpdate(field: keyof typeof UPDATE_SQL, condition: TextCondition): RawBuilder<boolean> {
  const isOpposite = condition.operator === 'absent' || condition.operator === 'notEquals'
  return sql<boolean>`${isOpposite ? sql`not` : sql``} exists (
    select from device_update u where u.device_id = d.device_id and ${matchesValue(condition, UPDATE_SQL[field])})`
}

function matchesValue(condition: TextCondition, value: RawBuilder<unknown>): RawBuilder<boolean> {
  switch (condition.operator) {
    case 'equals':
    case 'notEquals':
      return 'ignoresCase' in LIST_FIELDS[condition.field]
        ? sql`lower(${value}) = lower(${condition.value})`
        : sql`${value} = ${condition.value}`
    case 'contains':
      return matchesText(condition.value, value)
    default:
      return sql`${value} is not null`
  }
}

/**
 * Condition on the time since a device was last seen. A connected device is seen at this moment. A device that was never connected
 * matches neither operator.
 */
function matchesLastSeenAgo({ operator, value }: LastSeenCondition): RawBuilder<boolean> {
  const start = sql`now() - make_interval(secs => ${value})`
  if (operator === 'less') return sql`(d.is_connected or ${LAST_END} > ${start})`
  // The device's row has only the beginning of its last connection. The end is looked up, but only for devices whose connection began
  // long ago.
  return sql`(not d.is_connected and d.last_connected_at < ${start} and ${LAST_END} < ${start})`
}
