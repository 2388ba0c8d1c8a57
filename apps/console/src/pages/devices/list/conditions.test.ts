import { expect, it } from 'vitest'
import {
  type Condition,
  conditionText,
  parseConditions,
  readCondition,
  writeConditions,
} from './conditions.ts'

const typed = (value: string, operator: Condition['operator'] = 'equals') =>
  readCondition({ property: ' version ', operator, value })

it('reads numbers, true, false and null as JSON, and anything else as text', () => {
  const value = (text: string): unknown => (typed(text) as { value?: unknown }).value
  expect(['2.4.1', ' 4 ', '-1e3', 'true', 'null', '"4"', '"', '{}', '[1]', "it's"].map(value)).toEqual([
    '2.4.1',
    4,
    -1000,
    true,
    null,
    '4',
    '"',
    '{}',
    '[1]',
    "it's",
  ])
  expect(typed('4', 'contains')).toEqual({ property: 'version', operator: 'contains', value: '4' })
  expect(typed('4.5', 'less')).toEqual({ property: 'version', operator: 'less', value: 4.5 })
  expect(typed('left over'.repeat(99), 'absent')).toEqual({ property: 'version', operator: 'absent' })
})

it('reports errors per field', () => {
  expect(readCondition({ property: '', operator: 'equals', value: '' })).toEqual({
    property: 'Property must not be empty.',
    value: 'Value must not be empty.',
  })
  expect(readCondition({ property: 'a b', operator: 'exists', value: '' })).toEqual({
    property: 'Letters, digits, dots, underscores and dashes only.',
  })
  expect(typed('four', 'greater')).toEqual({ value: 'Please enter a number.' })
  expect(typed('x'.repeat(257))).toEqual({ value: 'At most 256 characters.' })
})

it('survives the URL unchanged, and ignores invalid conditions', () => {
  const conditions: Condition[] = [
    { property: 'version', operator: 'equals', value: '4' },
    { property: 'floor', operator: 'less', value: 4 },
    { property: 'note', operator: 'notEquals', value: null },
    { property: 'site.name', operator: 'contains', value: '&"=#% ä' },
    { property: 'ota', operator: 'absent' },
  ]
  expect(parseConditions(writeConditions(conditions))).toEqual(conditions)
  expect(writeConditions([])).toBeUndefined()
  expect(conditions.map(conditionText)).toEqual([
    'version is "4"',
    'floor is less than 4',
    'note is not null',
    'site.name contains &"=#% ä',
    'ota is not there',
  ])
  for (const text of ['', '{', '4', '{}', '[4, null, {}, []]', '[["a", "toString"]]', '[["a b", "exists"]]'])
    expect(parseConditions(text)).toEqual([])
  expect(parseConditions('[["a", "less", "four"], ["a", "less", 4]]')).toEqual([
    { property: 'a', operator: 'less', value: 4 },
  ])
})
