import { type ActionInput, MAX_CONDITION_LENGTH, MAX_PROPERTY_CONDITIONS } from '@muster/actions/client'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>

/** A condition on a property in the hub's format. */
export type Condition = NonNullable<Filter['properties']>[number]
export type Operator = Condition['operator']

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

const PROPERTY = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,255}$/

/** Input of the form for a condition. */
type Typed = { property: string; operator: Operator; value: string }

/** Parses a condition. Returns error texts per field if it is invalid. */
export function readCondition(typed: Typed): Condition | { property?: string; value?: string } {
  const { operator } = typed
  const property = typed.property.trim()
  const text = typed.value.trim()
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
  return `${condition.property} ${label} ${writeConditionValue(condition)}`.trim()
}

/** The value of a condition as the form accepts it. Texts that look like other JSON values are quoted. */
export function writeConditionValue(condition: Condition): string {
  if (!('value' in condition)) return ''
  const { operator, value } = condition
  return operator === 'contains' ? String(value) : writeValue(value)
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
