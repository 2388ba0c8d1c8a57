import {
  type ActionInput,
  MAX_CONDITION_LENGTH,
  MAX_LAST_SEEN_SECS,
  MAX_PROPERTY_CONDITIONS,
} from '@muster/actions/client'
import { CONDITION_FIELDS, LIST_FIELDS } from '@muster/predicates'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>

type PropertyCondition = NonNullable<Filter['properties']>[number]
type FieldCondition = NonNullable<Filter['fields']>[number]
export type Operator = PropertyCondition['operator']

/**
 * A condition on a property in the hub's format, or on another column. For a column, `property` has its name with the prefix `#`, which no
 * property name has. The value of a column with a time is a duration such as "24 h".
 */
export type Condition = PropertyCondition | { property: ColumnName; operator: Operator; value?: string }

/** Columns other than property columns that a condition can compare. */
export const CONDITION_COLUMNS = CONDITION_FIELDS.map(field => `#${field}` as const)
export type ColumnName = (typeof CONDITION_COLUMNS)[number]

/** Whether the subject of a condition is a column that is not a property. */
export function isColumnName(subject: string): subject is ColumnName {
  return CONDITION_COLUMNS.includes(subject as ColumnName)
}

/** Whether the subject of a condition is a column with a time, which a condition compares by the time since then. */
export function isTimeColumn(subject: string | undefined): boolean {
  return subject !== undefined && isColumnName(subject) && fieldOf(subject).type === 'time'
}

function fieldOf(column: ColumnName) {
  return LIST_FIELDS[column.slice(1) as (typeof CONDITION_FIELDS)[number]]
}

/** Text for the column or property that a condition compares: the column's label, or the property's name. */
export function subjectText(subject: string): string {
  return isColumnName(subject) ? fieldOf(subject).words : subject
}

/** Operators that a condition on this column or property may have. */
export function operatorsFor(subject: string): typeof OPERATORS {
  const without: Operator[] = isTimeColumn(subject)
    ? ['equals', 'notEquals', 'contains']
    : isColumnName(subject)
      ? ['less', 'greater']
      : []
  return OPERATORS.filter(({ value }) => !without.includes(value))
}

/** Kind of value that an operator needs. */
type Takes = 'value' | 'text' | 'number'

/** Operators of conditions with their labels. */
export const OPERATORS: readonly { value: Operator; label: string; takes?: Takes }[] = [
  { value: 'equals', label: 'is', takes: 'value' },
  { value: 'notEquals', label: 'is not', takes: 'value' },
  { value: 'contains', label: 'contains', takes: 'text' },
  { value: 'less', label: 'is less than', takes: 'number' },
  { value: 'greater', label: 'is greater than', takes: 'number' },
  { value: 'exists', label: 'is there' },
  { value: 'absent', label: 'is not there' },
]

const UNIT_SECS = { min: 60, h: 3600, d: 86_400 }
const DURATION = /^([1-9]\d{0,6}) ?(min|h|d)$/

/** Matches names of properties (docs/protocol.md 4.1). */
export const PROPERTY = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,255}$/

/** Input of the form for a condition. */
type Typed = { property: string; operator: Operator; value: string }

/** Parses a condition. Returns error texts per field if it is invalid. */
export function readCondition(typed: Typed): Condition | { property?: string; value?: string } {
  const { operator } = typed
  const property = typed.property.trim()
  const text = typed.value.trim()
  const isColumn = isColumnName(property)
  const takes = takenBy(operator)
  if (isColumn && !operatorsFor(property).some(({ value }) => value === operator))
    return { value: `${subjectText(property)} has no such condition.` }
  const wrongValue = takes && valueError(property, takes, text)
  const wrong = {
    ...(!isColumn &&
      !PROPERTY.test(property) && {
        property: property
          ? 'Letters, digits, dots, underscores and dashes only.'
          : 'Property must not be empty.',
      }),
    ...(wrongValue && { value: wrongValue }),
  }
  if (Object.keys(wrong).length > 0) return wrong
  const value = isColumn || takes === 'text' ? text : takes === 'number' ? Number(text) : readValue(text)
  return { property, operator, ...(takes && { value }) } as Condition
}

function valueError(property: string, takes: Takes, text: string): string | undefined {
  if (text === '') return 'Value must not be empty.'
  if (isTimeColumn(property)) {
    const secs = secsOf(text)
    if (secs === undefined) return 'Please enter a time such as 90 min, 24 h or 7 d.'
    return secs > MAX_LAST_SEEN_SECS ? 'At most 3650 d.' : undefined
  }
  if (text.length > MAX_CONDITION_LENGTH) return `At most ${MAX_CONDITION_LENGTH} characters.`
  return takes === 'number' && !Number.isFinite(Number(text)) ? 'Please enter a number.' : undefined
}

/** Seconds of a duration such as "24 h"; `undefined` for other texts. */
function secsOf(text: string): number | undefined {
  const [, count, unit] = DURATION.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * UNIT_SECS[unit as keyof typeof UNIT_SECS]
}

/** Parts of the hub's filter for conditions. */
export function filterOfConditions(conditions: readonly Condition[]): Pick<Filter, 'properties' | 'fields'> {
  const properties: PropertyCondition[] = []
  const fields: FieldCondition[] = []
  for (const condition of conditions) {
    const { property, operator } = condition
    if (!isColumnName(property)) properties.push(condition as PropertyCondition)
    else {
      const field = property.slice(1)
      const value = writeConditionValue(condition)
      fields.push({
        field,
        operator,
        ...(takenBy(operator) && { value: isTimeColumn(property) ? secsOf(value) : value }),
      } as FieldCondition)
    }
  }
  return {
    ...(properties.length > 0 && { properties }),
    ...(fields.length > 0 && { fields }),
  }
}

/** Kind of value that an operator needs; `undefined` for operators without a value. */
export function takenBy(operator: Operator): Takes | undefined {
  return OPERATORS.find(({ value }) => value === operator)?.takes
}

/** Whether `readCondition` returned a condition, not errors. */
export function isCondition(read: ReturnType<typeof readCondition>): read is Condition {
  return 'operator' in read
}

/** A condition as text, for example "version is 2.4.1". */
export function conditionText(condition: Condition): string {
  const { label } = OPERATORS.find(({ value }) => value === condition.operator)!
  const value = writeConditionValue(condition)
  const ago = value && isTimeColumn(condition.property) ? ' ago' : ''
  return `${subjectText(condition.property)} ${label} ${value}${ago}`.trim()
}

/** The value of a condition as the form accepts it. Texts that look like other JSON values are quoted. */
export function writeConditionValue(condition: Condition): string {
  if (!('value' in condition) || condition.value === undefined) return ''
  const { property, operator, value } = condition
  return operator === 'contains' || isColumnName(property) ? String(value) : writeValue(value)
}

/** Text of a value for the form, from which `readValue` reads the same value. */
export function writeValue(value: string | number | boolean | null): string {
  return readValue(String(value)) === value ? String(value) : JSON.stringify(value)
}

/** Parses a value: numbers, `true`, `false`, `null` and quoted texts as JSON, anything else as text. */
export function readValue(text: string): string | number | boolean | null {
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value))
      return value as string | number | boolean | null
  } catch {
    // Not JSON: a text without quotes.
  }
  return text
}

/** Conditions as a search parameter, in JSON because a value may be any text. `undefined` without conditions. */
export function writeConditions(conditions: readonly Condition[]): string | undefined {
  if (conditions.length === 0) return undefined
  return JSON.stringify(
    conditions.map(condition => [condition.property, condition.operator, writeConditionValue(condition)]),
  )
}

/** The conditions in a search parameter. Invalid conditions are left out. */
export function parseConditions(text = '[]'): Condition[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return []
  }
  if (!Array.isArray(parsed)) return []
  return parsed
    .map(one => {
      const [property, operator, value] = Array.isArray(one) ? one.map(String) : []
      const isKnown = OPERATORS.some(known => known.value === operator)
      return isKnown
        ? readCondition({ property: property!, operator: operator as Operator, value: value ?? '' })
        : {}
    })
    .filter(isCondition)
    .slice(0, MAX_PROPERTY_CONDITIONS)
}
