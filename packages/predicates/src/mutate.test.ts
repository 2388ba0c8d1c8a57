import { describe, expect, it } from 'vitest'
import { changedAt, evaluateValue, type Json, type JsonMutation } from './index.ts'

const literal = (value: Json) => ({ kind: 'Literal', value }) as const

describe('changedAt', () => {
  it.each<[string, Json | undefined, JsonMutation, Json | { reason: string }]>([
    ['sets a member', { a: 1, b: 2 }, { mutation: 'Set', path: ['a'], expr: literal(3) }, { a: 3, b: 2 }],
    [
      'makes missing objects',
      undefined,
      { mutation: 'Set', path: ['a', 'b'], expr: literal(1) },
      { a: { b: 1 } },
    ],
    ['replaces the whole value', 'x', { mutation: 'Set', path: [], expr: literal([1]) }, [1]],
    ['appends an element', [1], { mutation: 'Set', path: [1], expr: literal(2) }, [1, 2]],
    [
      'refuses a gap in a list',
      { l: [1] },
      { mutation: 'Set', path: ['l', 3], expr: literal(2) },
      { reason: 'found 1 elements at ["l"], expected at least 3' },
    ],
    [
      'refuses a member of a text',
      { a: 'x' },
      { mutation: 'Set', path: ['a', 'b'], expr: literal(2) },
      { reason: 'found no object at ["a"], expected one with "b"' },
    ],
    [
      'merges as RFC 7396',
      { a: 1, b: { c: 1, d: 2 }, e: [1] },
      { mutation: 'MergePatch', path: [], expr: literal({ a: null, b: { c: 3 }, e: [2], f: { g: null } }) },
      { b: { c: 3, d: 2 }, e: [2], f: {} },
    ],
    ['removes a member', { a: { b: 1, c: 2 } }, { mutation: 'Remove', path: ['a', 'b'] }, { a: { c: 2 } }],
    ['removes an element', [1, 2, 3], { mutation: 'Remove', path: [1] }, [1, 3]],
    ['leaves a value without the member', { a: 1 }, { mutation: 'Remove', path: ['b', 'c'] }, { a: 1 }],
    [
      'needs a path to remove',
      { a: 1 },
      { mutation: 'Remove', path: [] },
      { reason: 'a removal needs a path' },
    ],
  ])('%s', (_name, value, mutation, expected) => {
    const before = JSON.stringify(value)
    const given = 'expr' in mutation ? (mutation.expr as { value: Json }).value : null
    const result = changedAt(value, mutation, given)
    if (expected !== null && typeof expected === 'object' && 'reason' in expected)
      expect(result).toEqual(expected)
    else expect(result).toEqual({ value: expected })
    expect(JSON.stringify(value)).toBe(before)
  })

  it('treats a member named __proto__ as any other', () => {
    const value = JSON.parse('{"__proto__": {"a": 1}}') as Json
    const result = changedAt(value, { mutation: 'Set', path: ['__proto__', 'a'], expr: literal(2) }, 2)
    expect(JSON.stringify(result)).toBe('{"value":{"__proto__":{"a":2}}}')
  })
})

it('evaluates the current value of a mutation', () => {
  const values = { valueOf: () => undefined, nowMs: 0 }
  const expr = { kind: 'Get', expr: { kind: 'Current' }, path: ['a'] } as const
  expect(evaluateValue({ ...expr, path: ['a'] }, { ...values, current: { a: 1 } })).toEqual({ value: 1 })
  expect(evaluateValue({ ...expr, path: ['a'] }, values)).toEqual({ reason: 'there is no current value' })
})
