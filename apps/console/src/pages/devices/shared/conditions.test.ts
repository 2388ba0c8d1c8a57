import { expect, it } from 'vitest'
import {
  type Condition,
  conditionText,
  filterOfConditions,
  operatorsFor,
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

it('reads conditions on version, update and last seen, and sends them as fields', () => {
  const conditions = parseConditions(
    JSON.stringify([
      ['#version', 'equals', '4'],
      ['#update', 'contains', 'fail'],
      ['#lastSeen', 'greater', '24 h'],
      ['#lastSeen', 'less', '90min'],
      ['#lastSeen', 'equals', '24 h'],
      ['#version', 'less', '4'],
      ['#weather', 'exists', ''],
      ['version', 'equals', '4'],
    ]),
  )
  expect(conditions.map(conditionText)).toEqual([
    'Version is 4',
    'Update contains fail',
    'Last seen is greater than 24 h ago',
    'Last seen is less than 90min ago',
    'version is 4',
  ])
  expect(parseConditions(writeConditions(conditions))).toEqual(conditions)
  expect(filterOfConditions(conditions)).toEqual({
    properties: [{ property: 'version', operator: 'equals', value: 4 }],
    fields: [
      { field: 'version', operator: 'equals', value: '4' },
      { field: 'update', operator: 'contains', value: 'fail' },
      { field: 'lastSeen', operator: 'greater', value: 86_400 },
      { field: 'lastSeen', operator: 'less', value: 5_400 },
    ],
  })
  expect(filterOfConditions([])).toEqual({})
})

it('reports a wrong time, and offers only conditions that a column has', () => {
  const read = (value: string) => readCondition({ property: '#lastSeen', operator: 'greater', value })
  for (const wrong of ['24', '0 h', 'a day', '1.5 h', '-2 d'])
    expect(read(wrong)).toEqual({ value: 'Please enter a time such as 90 min, 24 h or 7 d.' })
  expect(read('3651 d')).toEqual({ value: 'At most 3650 d.' })
  expect(read('')).toEqual({ value: 'Value must not be empty.' })
  expect(operatorsFor('#lastSeen').map(({ value }) => value)).toEqual(['less', 'greater', 'exists', 'absent'])
  expect(operatorsFor('#version').map(({ value }) => value)).not.toContain('less')
  expect(operatorsFor('version')).toHaveLength(12)
})
