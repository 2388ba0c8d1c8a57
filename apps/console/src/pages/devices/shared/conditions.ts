import {
  type ActionInput,
  MAX_CONDITION_LENGTH,
  MAX_LAST_SEEN_SECS,
  MAX_PROPERTY_CONDITIONS,
} from '@muster/actions/client'
import {
  CONDITION_FIELDS,
  DEVICE_FIELDS,
  type DeviceFieldName,
  isLabelKey,
  LABELS,
  LIST_FIELDS,
} from '@muster/predicates'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>

type PropertyCondition = NonNullable<Filter['properties']>[number]
type FieldCondition = NonNullable<Filter['fields']>[number]
/** Operators that predicates have, and filters by `properties` and `fields` lack. */
type PredicateOperator = 'oneOf' | 'noneOf' | 'differs' | 'atMost' | 'atLeast' | 'satisfies'
export type Operator = PropertyCondition['operator'] | PredicateOperator

/** A value that a condition compares. */
export type Scalar = string | number | boolean | null

/**
 * A condition of the form. `property` is the name of a property, `dev.muster.labels.` and the key of a label, a field of the device with the
 * prefix `#`, which no property name has, or another value as the text form of predicates has it. The value of a field with a time is a
 * duration such as "24 h".
 */
export type Condition = { property: string; operator: Operator; value?: Scalar | Scalar[] }

/** Columns other than property columns that stand among the properties in the form. */
export const CONDITION_COLUMNS = CONDITION_FIELDS.map(field => `#${field}` as const)
/** All fields of a device that a condition can compare. */
export const DEVICE_SUBJECTS = Object.keys(DEVICE_FIELDS).map(field => `#${field}` as ColumnName)
export type ColumnName = `#${DeviceFieldName}`

/** Whether the subject of a condition is a field of the device, not a property. */
export function isColumnName(subject: string): subject is ColumnName {
  return subject.startsWith('#') && Object.hasOwn(DEVICE_FIELDS, subject.slice(1))
}

/** Whether the subject of a condition is a field with a time, which a condition compares by the time since then. */
export function isTimeColumn(subject: string | undefined): boolean {
  return subject !== undefined && typeOfSubject(subject) === 'time'
}

/** Type of the field of a device; undefined for properties and labels. */
export function typeOfSubject(subject: string): 'text' | 'time' | 'count' | 'boolean' | undefined {
  return isColumnName(subject) ? DEVICE_FIELDS[subject.slice(1) as DeviceFieldName].type : undefined
}

/** Words for the fields of a device without a column in the list. */
const FIELD_WORDS: Record<Exclude<DeviceFieldName, keyof typeof LIST_FIELDS>, string> = {
  hostname: 'Host name',
  connected: 'Connected',
  sharedIdentity: 'Shared identity',
  certificateEnds: 'Certificate ends',
  lastConnectedAt: 'Last connected',
  targetVersion: 'Target version',
  updateFailureCount: 'Failed updates',
  updateError: 'Error of the update',
}

/** Key of the label that a condition compares; undefined for other subjects. */
export function labelOf(subject: string): string | undefined {
  const key = subject.startsWith(`${LABELS}.`) ? subject.slice(LABELS.length + 1) : ''
  return isLabelKey(key) ? key : undefined
}

/** Text for the field or property that a condition compares: the words of the field, or the name of the property. */
export function subjectText(subject: string): string {
  if (!isColumnName(subject)) return subject
  const field = subject.slice(1) as DeviceFieldName
  return field in LIST_FIELDS
    ? LIST_FIELDS[field as keyof typeof LIST_FIELDS].words
    : FIELD_WORDS[field as keyof typeof FIELD_WORDS]
}

const ORDERS: Operator[] = ['less', 'greater', 'atMost', 'atLeast']

/** Operators that a condition on this field, label or property may have. `differs` is only read from the text form. */
export function operatorsFor(subject: string): typeof OPERATORS {
  const type = typeOfSubject(subject)
  const isAllowed = (operator: Operator) => {
    if (operator === 'differs') return false
    if (type === 'boolean') return operator === 'equals'
    if (type === 'time') return ['less', 'greater', 'exists', 'absent'].includes(operator)
    if (type === 'count') return !['contains', 'satisfies'].includes(operator)
    return !(ORDERS.includes(operator) && (type === 'text' || labelOf(subject) !== undefined))
  }
  return OPERATORS.filter(({ value }) => isAllowed(value))
}

/** Kind of value that an operator needs. */
type Takes = 'value' | 'text' | 'number' | 'list'

/** Operators of conditions with their labels. */
export const OPERATORS: readonly { value: Operator; label: string; takes?: Takes }[] = [
  { value: 'equals', label: 'is', takes: 'value' },
  { value: 'notEquals', label: 'is not', takes: 'value' },
  { value: 'oneOf', label: 'is one of', takes: 'list' },
  { value: 'noneOf', label: 'is none of', takes: 'list' },
  { value: 'differs', label: 'is there, but not', takes: 'list' },
  { value: 'contains', label: 'contains', takes: 'text' },
  { value: 'less', label: 'is less than', takes: 'number' },
  { value: 'greater', label: 'is greater than', takes: 'number' },
  { value: 'atMost', label: 'is at most', takes: 'number' },
  { value: 'atLeast', label: 'is at least', takes: 'number' },
  { value: 'satisfies', label: 'meets', takes: 'text' },
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
  if (isColumn && operator !== 'differs' && !operatorsFor(property).some(({ value }) => value === operator))
    return { value: `${subjectText(property)} has no such condition.` }
  const wrongValue = takes && valueError(property, takes, text)
  const wrong = {
    ...(!isColumn &&
      !isReference(property) && {
        property: property
          ? 'Letters, digits, dots, underscores and dashes only.'
          : 'Property must not be empty.',
      }),
    ...(wrongValue && { value: wrongValue }),
  }
  if (Object.keys(wrong).length > 0) return wrong
  return { property, operator, ...(takes && { value: typedValue(property, takes, text) }) }
}

function typedValue(property: string, takes: Takes, text: string): Scalar | Scalar[] {
  const type = typeOfSubject(property)
  const isText = type === 'text' || type === 'time' || takes === 'text' || labelOf(property) !== undefined
  if (takes === 'list') return listOf(text).map(part => (isText ? unquoted(part) : readValue(part)))
  if (isText || type === 'boolean') return text
  return takes === 'number' ? Number(text) : readValue(text)
}

/** The parts between the commas of a list. A comma in quotes separates nothing. */
function listOf(text: string): string[] {
  const parts = text.match(/(?:"(?:[^"\\]|\\.)*"|[^,])+/g) ?? []
  return parts.map(part => part.trim()).filter(part => part !== '')
}

function unquoted(part: string): string {
  const value = readValue(part)
  return typeof value === 'string' ? value : part
}

/** Whether a subject is the name of a property, or a value as the text form of predicates has it, such as `property["a.b"].c`. */
function isReference(subject: string): boolean {
  return PROPERTY.test(subject) || /^[A-Za-z_]\w*[.[]/.test(subject)
}

function valueError(property: string, takes: Takes, text: string): string | undefined {
  if (text === '') return 'Value must not be empty.'
  if (isTimeColumn(property)) {
    const secs = secsOf(text)
    if (secs === undefined) return 'Please enter a time such as 90 min, 24 h or 7 d.'
    return secs > MAX_LAST_SEEN_SECS ? 'At most 3650 d.' : undefined
  }
  if (typeOfSubject(property) === 'boolean' && text !== 'true' && text !== 'false')
    return 'Please enter true or false.'
  if (takes === 'list' && listOf(text).length === 0) return 'Please enter at least one value.'
  if (takes !== 'list' && text.length > MAX_CONDITION_LENGTH)
    return `At most ${MAX_CONDITION_LENGTH} characters.`
  return takes === 'number' && !Number.isFinite(Number(text)) ? 'Please enter a number.' : undefined
}

/** Seconds of a duration such as "24 h"; `undefined` for other texts. */
export function secsOf(text: string): number | undefined {
  const [, count, unit] = DURATION.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * UNIT_SECS[unit as keyof typeof UNIT_SECS]
}

/** The duration with the longest unit that divides it, such as "24 h"; `undefined` if it is no number of minutes. */
export function durationOf(secs: number): string | undefined {
  const units = Object.entries(UNIT_SECS).toReversed()
  const [unit, length] = units.find(([, length]) => secs % length === 0) ?? []
  return unit === undefined || secs === 0 ? undefined : `${secs / length!} ${unit}`
}

/** Whether a condition can be a part of `properties` or `fields` in the filter, which addresses have as JSON. */
export function isPlain({ property, operator, value }: Condition): boolean {
  const isKnown = isColumnName(property)
    ? CONDITION_COLUMNS.includes(property as (typeof CONDITION_COLUMNS)[number])
    : PROPERTY.test(property)
  const isOfPredicate = ['oneOf', 'noneOf', 'differs', 'atMost', 'atLeast', 'satisfies'].includes(operator)
  return isKnown && !isOfPredicate && !Array.isArray(value)
}

/** Parts of the hub's filter for conditions that are plain. */
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
  const { subject, label, value } = conditionWords(condition)
  return `${subject} ${label} ${value}`.trim()
}

/** The three parts of a condition in words. */
export function conditionWords(condition: Condition): { subject: string; label: string; value: string } {
  const { property, operator } = condition
  const { label } = OPERATORS.find(({ value }) => value === operator)!
  const value = writeConditionValue(condition)
  const subject = subjectText(property)
  if (typeOfSubject(property) === 'boolean')
    return { subject, label: value === 'false' ? 'is false' : 'is true', value: '' }
  return { subject, label, value: value && isTimeColumn(property) ? `${value} ago` : value }
}

/** The value of a condition as the form accepts it. Texts that look like other JSON values are quoted. */
export function writeConditionValue(condition: Condition): string {
  const { property, operator, value } = condition
  if (value === undefined) return ''
  if (Array.isArray(value)) return value.map(part => listPart(property, part)).join(', ')
  const isText = operator === 'contains' || operator === 'satisfies'
  return isText || isColumnName(property) ? String(value) : writeValue(value)
}

function listPart(property: string, value: Scalar): string {
  const isText = typeOfSubject(property) === 'text' || labelOf(property) !== undefined
  const isSafe = typeof value === 'string' && !/[",]/.test(value) && value.trim() === value
  return isText && isSafe
    ? value
    : typeof value === 'string' && !isSafe
      ? JSON.stringify(value)
      : writeValue(value)
}

/** Text of a value for the form, from which `readValue` reads the same value. */
export function writeValue(value: Scalar): string {
  return readValue(String(value)) === value ? String(value) : JSON.stringify(value)
}

/** Parses a value: numbers, `true`, `false`, `null` and quoted texts as JSON, anything else as text. */
export function readValue(text: string): Scalar {
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as Scalar
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
    .filter(isPlain)
    .slice(0, MAX_PROPERTY_CONDITIONS)
}
