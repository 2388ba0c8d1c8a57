import type { ActionOutput } from '@muster/actions/client'
import { counted } from '../../../lib/app/format.ts'
import { lookUp } from '../../../lib/app/look-up.ts'

type PropertyName = ActionOutput<'projects_QueryPropertyNames'>['names'][number]

const KINDS: Readonly<Record<PropertyName['kinds'][number], string>> = {
  string: 'text',
  number: 'number',
  boolean: 'true or false',
  null: 'null',
  object: 'object',
  array: 'list',
}
const DATE = /^\d{4}-\d\d-\d\d/

/**
 * Types of a property's values, with their number, range or an example: "text, 9 values", "number, 4 to 71", 'date, for example
 * “2026-09-30”'.
 */
export function propertyWords({ kinds, lowest, highest, distinctCount, example }: PropertyName): string {
  const [kind] = kinds
  if (kind === undefined) return 'large values'
  if (kinds.length > 1)
    return `${kinds.map(one => lookUp(KINDS, one, one)).join(', ')}, ${counted(distinctCount, 'value')}`
  if (kind === 'number' && lowest !== undefined && highest !== undefined) {
    const numbers = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6 })
    return lowest === highest
      ? `number, ${numbers.format(lowest)}`
      : `number, ${numbers.format(lowest)} to ${numbers.format(highest)}`
  }
  if (kind === 'string' && example !== undefined && DATE.test(example))
    return `date, for example “${example}”`
  if (kind === 'boolean' || kind === 'null') return KINDS[kind]
  return `${lookUp(KINDS, kind, kind)}, ${counted(distinctCount, 'value')}`
}
