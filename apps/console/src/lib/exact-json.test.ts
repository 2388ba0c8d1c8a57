import { describe, expect, it } from 'vitest'
import { ExactNumber, parseExactly } from './exact-json.ts'

describe('parseExactly', () => {
  it.each([
    '12345678901234567890',
    '-9007199254740993',
    '0.1234567890123456789',
    '1e400',
    '1E-400',
    '123456789.123456789123',
  ])('keeps %s as it was written', text => {
    const value = parseExactly(`{"a":[${text}]}`) as { a: unknown[] }
    expect(value.a[0]).toBeInstanceOf(ExactNumber)
    expect(String(value.a[0])).toBe(text)
    expect(JSON.stringify(value)).toBe(`{"a":[${text}]}`)
  })

  it.each(['0', '-0', '1.0', '1e3', '42500', '1.7976931348623157e+308', '9007199254740991', '0.1', '5e-324'])(
    'reads %s as the number that it is',
    text => expect(parseExactly(`[${text}, 12345678901234567]`)).toEqual([Number(text), expect.anything()]),
  )

  it('leaves texts alone that only look like numbers', () => {
    const text = '{"serial":"12345678901234567890","digest":"0123456789012345"}'
    expect(JSON.stringify(parseExactly(text))).toBe(text)
  })
})
