import type { ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { matchesText } from '../../platform/database/client/page.ts'
import { hasLabel, labelOfPath } from '../labels/index.ts'

type Filter = NonNullable<ParsedInput<'projects_QueryDevices'>['filter']>
type Condition = NonNullable<Filter['properties']>[number]

/** Condition that a device meets a filter on one of its properties, or on a label (`labelOfPath`). The surrounding query must use the alias `d` for `device`. */
export function matchesProperty(condition: Condition): RawBuilder<boolean> {
  const isOpposite = condition.operator === 'absent' || condition.operator === 'notEquals'
  const not = isOpposite ? sql`not` : sql``
  const label = labelOfPath(condition.property)
  if (label !== undefined) return sql<boolean>`${not} ${hasLabel(label, matchesLabel(condition))}`
  return sql<boolean>`${not} exists (
    select from device_property p
     where p.device_id = d.device_id and p.name = ${condition.property} and ${matchesValue(condition)})`
}

/** Condition on the value of a label, which is always a text: `4` is the text of the number. It has no order. */
function matchesLabel(condition: Condition): RawBuilder<unknown> {
  const value = sql.ref('l.value')
  switch (condition.operator) {
    case 'equals':
    case 'notEquals':
      return sql`${value} = ${String(condition.value)}`
    case 'contains':
      return matchesText(condition.value, value)
    case 'less':
    case 'greater':
      return sql`false`
    default:
      return sql`true`
  }
}

/** Restricts comparisons to numbers: `jsonb` sorts strings below and booleans above all numbers. */
const IS_NUMBER = sql<boolean>`jsonb_typeof(p.value_json) = 'number'`
/** A value as text: strings without quotes, anything else as the JSON text that was sent. */
const VALUE_TEXT = sql`case jsonb_typeof(p.value_json) when 'string' then p.value_json #>> '{}' else p.value::text end`

function matchesValue(condition: Condition): RawBuilder<boolean> {
  switch (condition.operator) {
    case 'exists':
    case 'absent':
      return sql`true`
    case 'equals':
    case 'notEquals':
      return sql`jsonb_scalar(p.value_json) = ${JSON.stringify(condition.value)}::jsonb`
    case 'less':
      return sql`jsonb_scalar(p.value_json) < ${JSON.stringify(condition.value)}::jsonb and ${IS_NUMBER}`
    case 'greater':
      return sql`jsonb_scalar(p.value_json) > ${JSON.stringify(condition.value)}::jsonb and ${IS_NUMBER}`
    case 'contains':
      return matchesText(condition.value, VALUE_TEXT)
  }
}
