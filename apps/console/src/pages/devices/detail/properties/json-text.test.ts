import { expect, it } from 'vitest'
import { parseTyped } from './json-text.ts'

it.each([
  ['{ "a": [1, 2 }', 'This is not JSON: unexpected } at column 14.'],
  ['{ "a": 1, 12', 'This is not JSON: missing } at column 13.'],
  ['{ "a":\n [1', 'This is not JSON: missing ] at line 2, column 4.'],
  ['"open', 'This is not JSON: missing " at column 6.'],
  ['  ', 'Enter a value as JSON, for example 16, "text" or { "limit": 16 }.'],
])('says what is wrong with %s', (text, error) => {
  expect(parseTyped(text)).toEqual({ error })
})

it('parses values of every kind, and keeps long numbers', () => {
  expect(parseTyped(' {"a": "مرحبا"} ')).toEqual({ value: { a: 'مرحبا' } })
  expect(JSON.stringify(parseTyped('12345678901234567890'))).toBe('{"value":12345678901234567890}')
})
