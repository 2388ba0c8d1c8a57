import {
  type ActionInput,
  MAX_CONDITION_LENGTH,
  MAX_LAST_SEEN_SECS,
  MAX_PROPERTY_CONDITIONS,
} from '@muster/actions/client'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>

type PropertyCondition = NonNullable<Filter['properties']>[number]
type FieldCondition = NonNullable<Filter['fields']>[number]
export type Operator = PropertyCondition['operator']

/**
 * A condition on a property in the hub's format, or on another column. For a column, `property` has its name with the prefix `#`, which no
 * property name has. A value of `#lastSeen` is a duration such as "24 h".
 */
export type Condition = PropertyCondition | { property: ColumnName; operator: Operator; value?: string }

/** Columns other than property columns that a condition can compare. */
export const CONDITION_COLUMNS = {
  '#version': 'Version',
  '#update': 'Update',
  '#lastSeen': 'Last seen',
} as const
export type ColumnName = keyof typeof CONDITION_COLUMNS

/** Whether the subject of a condition is a column that is not a property. */
export function isColumnName(subject: string): subject is ColumnName {
  return Object.hasOwn(CONDITION_COLUMNS, subject)
}

/** Text for the column or property that a condition compares: the column's label, or the property's name. */
export function subjectText(subject: string): string {
  return isColumnName(subject) ? CONDITION_COLUMNS[subject] : subject
}

/** Operators that a condition on this column or property may have. */
export function operatorsFor(subject: string): typeof OPERATORS {
  const without: Operator[] =
    subject === '#lastSeen'
      ? ['equals', 'notEquals', 'contains']
      : isColumnName(subject)
        ? ['less', 'greater']
        : []
  return OPERATORS.filter(({ value }) => !without.includes(value))
}

/** Operators of conditions with their labels. `takes` is the kind of value that the operator needs. */
export const OPERATORS: readonly { value: Operator; label: string; takes?: 'value' | 'text' | 'number' }[] = [
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

const PROPERTY = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,255}$/

/** Input of the form for a condition. */
type Typed = { property: string; operator: Operator; value: string }

/** Parses a condition. Returns error texts per field if it is invalid. */
export function readCondition(typed: Typed): Condition | { property?: string; value?: string } {
  const { operator } = typed
  const property = typed.property.trim()
  const text = typed.value.trim()
  if (isColumnName(property)) return readColumnCondition(property, operator, text)
  const takes = takenBy(operator)
  const isNumber = text !== '' && Number.isFinite(Number(text))
  const wrong = {
    ...(!PROPERTY.test(property) && {
      property: property
        ? 'Letters, digits, dots, underscores and dashes only.'
        : 'Property must not be empty.',
    }),
    ...(takes && !text && { value: 'Value must not be empty.' }),
    ...(takes === 'number' && text && !isNumber && { value: 'Please enter a number.' }),
    ...(takes &&
      text.length > MAX_CONDITION_LENGTH && { value: `At most ${MAX_CONDITION_LENGTH} characters.` }),
  }
  if (Object.keys(wrong).length > 0) return wrong
  switch (operator) {
    case 'exists':
    case 'absent':
      return { property, operator }
    case 'contains':
      return { property, operator, value: text }
    case 'less':
    case 'greater':
      return { property, operator, value: Number(text) }
    case 'equals':
    case 'notEquals':
      return { property, operator, value: readValue(text) }
  }
}

function readColumnCondition(
  property: ColumnName,
  operator: Operator,
  text: string,
): Condition | { value?: string } {
  if (!operatorsFor(property).some(({ value }) => value === operator))
    return { value: `${subjectText(property)} has no such condition.` }
  if (!takenBy(operator)) return { property, operator }
  if (text === '') return { value: 'Value must not be empty.' }
  if (property !== '#lastSeen') {
    if (text.length > MAX_CONDITION_LENGTH) return { value: `At most ${MAX_CONDITION_LENGTH} characters.` }
    return { property, operator, value: text }
  }
  const secs = secsOf(text)
  if (secs === undefined) return { value: 'Please enter a time such as 90 min, 24 h or 7 d.' }
  if (secs > MAX_LAST_SEEN_SECS) return { value: 'At most 3650 d.' }
  return { property, operator, value: text }
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
        ...(takenBy(operator) && { value: property === '#lastSeen' ? secsOf(value) : value }),
      } as FieldCondition)
    }
  }
  return {
    ...(properties.length > 0 && { properties }),
    ...(fields.length > 0 && { fields }),
  }
}

/** Kind of value that an operator needs; `undefined` for operators without a value. */
export function takenBy(operator: Operator): 'value' | 'text' | 'number' | undefined {
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
  const ago = value && condition.property === '#lastSeen' ? ' ago' : ''
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
