import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import { z } from 'zod'
import { listInput, optional, optionalText, secret } from './define.ts'
import { AnyJson, isVisible, Name, PropertyName, Timestamp, text, U32, U64 } from './scalars.ts'

const accepts = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success

it('isVisible knows the invisible characters of Unicode, and the braille pattern without dots', () => {
  const invisible = /[\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u
  const wrong: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const char = String.fromCodePoint(code)
    if (isVisible(char) === invisible.test(char)) wrong.push(code.toString(16))
  }
  expect(wrong).toEqual([])
})

describe('a timestamp', () => {
  it.each([
    '2026-11-21T12:03:04Z',
    '2026-11-21T12:03:04.1Z',
    '2026-11-21T12:03:04.123456789Z',
    '2026-11-21T12:03:04.123456789+05:30',
    '2026-11-21T12:03:04-11:59',
    '2026-11-21T12:03:04-00:00',
    '2026-11-21T12:03:04+15:59',
    '2024-02-29T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:58Z',
    new Date().toISOString(),
  ])('may be %s', value => {
    expect(Timestamp.parse(value)).toBe(value)
  })

  it.each([
    ['has no offset', '2026-11-21T12:03:04'],
    ['has no seconds', '2026-11-21T12:03Z'],
    ['has no date', '12:03:04Z'],
    ['has a blank for the T', '2026-11-21 12:03:04Z'],
    ['has an offset without a colon', '2026-11-21T12:03:04+0530'],
    ['has an offset that is used nowhere on earth', '2026-11-21T12:03:04+16:00'],
    ['has ten digits of a second', '2026-11-21T12:03:04.1234567891Z'],
    ['has a point and no digits', '2026-11-21T12:03:04.Z'],
    ['names a day that does not exist', '2026-02-30T00:00:00Z'],
    ['names the 29th of a common February', '2026-02-29T00:00:00Z'],
    ['names an hour that does not exist', '2026-11-21T24:00:00Z'],
    ['is before the first year', '0000-12-31T23:59:59Z'],
    ['is before the first year by its offset', '0001-01-01T00:00:00+01:00'],
    ['is after the last year by its offset', '9999-12-31T23:59:59-01:00'],
    ['would round into the year after the last', '9999-12-31T23:59:59.9999999Z'],
    ['has a year of five digits', '12026-11-21T12:03:04Z'],
    ['has a sign', '+2026-11-21T12:03:04Z'],
    ['goes on', '2026-11-21T12:03:04Z\n'],
    ['is empty', ''],
    ['is a number', 1_700_000_000],
    ['is null', null],
  ])('is refused when it %s', (_why, value) => {
    expect(accepts(Timestamp, value)).toBe(false)
  })

  it('is refused with one message', () => {
    expect(Timestamp.safeParse('soon').error?.issues.map(issue => issue.message)).toEqual([
      'expected an RFC 3339 timestamp with an offset',
    ])
  })
})

describe('a name', () => {
  it('is trimmed', () => {
    expect(Name.parse('  Gate 7\n')).toBe('Gate 7')
  })

  it.each(['', ' ', '\t\n', '\u00a0'])('is not %j', value => {
    expect(Name.safeParse(value).error?.issues[0]?.message).toBe('must not be empty')
  })

  it('D12: has no characters that change the direction of text', () => {
    for (const char of '\u061c\u200e\u200f\u202a\u202d\u202e\u2066\u2069')
      expect(Name.safeParse(`crane ${char}70`).error?.issues[0]?.message).toBe(
        'must not contain characters that change the direction of text',
      )
    expect(accepts(Name, 'רציף 4 مرسى')).toBe(true)
  })

  it('has at most 128 characters, counted as people count them', () => {
    for (const char of ['a', 'é', '漢', '😀']) {
      expect(accepts(Name, char.repeat(128)), char).toBe(true)
      expect(Name.safeParse(char.repeat(129)).error?.issues[0]?.message).toBe(
        'must have at most 128 characters',
      )
    }
  })

  it.each(['a\0b', 'a\nb', 'a\u001bb', 'a\u007fb', 'a\u0085b', 'a\ud800b', 'a\udc00b', '\udc00\ud800'])(
    'has no control characters and no half characters: %j',
    value => {
      expect(accepts(Name, value)).toBe(false)
    },
  )

  it.each([null, undefined, 7, true, ['a'], {}])('is text and not %j', value => {
    expect(accepts(Name, value)).toBe(false)
  })
})

describe('a property name', () => {
  it.each(['a', '7', 'dev.nexigon.system.info', 'A-b_c.9', 'a'.repeat(256), 'constructor', 'toString'])(
    'may be %s',
    value => {
      expect(PropertyName.parse(value)).toBe(value)
    },
  )

  it.each(['', '.a', '-a', '_a', '__proto__', 'a b', 'a/b', 'é', 'a\n', 'a\0', 'a'.repeat(257), null, 7])(
    'is not %j',
    value => {
      expect(accepts(PropertyName, value)).toBe(false)
    },
  )
})

describe('text for the database', () => {
  it.each(['', ' ', 'a\nb', '%_\\', "'; drop", '😀'.repeat(10)])('may be %j', value => {
    expect(text(10).parse(value)).toBe(value)
  })

  it.each(['a'.repeat(11), 'a\0', '\ud800', '\udc00a'])('is not %j', value => {
    expect(accepts(text(10), value)).toBe(false)
  })
})

describe('an unsigned number', () => {
  it.each([
    [0, 0],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ['0', 0],
    ['007', 7],
    ['9007199254740993', 9007199254740992],
    ['18446744073709551615', 2 ** 64],
  ])('of 64 bits may be %j', (value, number) => {
    expect(U64.parse(value)).toBe(number)
  })

  it.each([
    -1,
    0.5,
    2 ** 53,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '-1',
    '+1',
    '1.0',
    '1e3',
    '0x10',
    ' 1',
    '',
    '18446744073709551616',
    '99999999999999999999',
    '100000000000000000000',
    null,
    true,
    [],
  ])('of 64 bits is not %j, with one message', value => {
    expect(U64.safeParse(value).error?.issues).toHaveLength(1)
  })

  it('of 32 bits accepts numbers in its range', () => {
    for (const value of [0, 4_294_967_295]) expect(U32.parse(value)).toBe(value)
    for (const value of [-1, 4_294_967_296, 1.5, '1', null]) expect(accepts(U32, value)).toBe(false)
  })
})

describe('an optional field', () => {
  const schema = z.object({ flag: optional(z.boolean()), name: optionalText(Name) })

  it('treats absent, null and undefined alike', () => {
    for (const value of [{}, { flag: null, name: null }, { flag: undefined, name: undefined }])
      expect(schema.parse(value)).toEqual({})
  })

  it('keeps falsy values', () => {
    expect(optional(z.boolean()).parse(false)).toBe(false)
    expect(optional(z.number()).parse(0)).toBe(0)
    expect(optional(z.string()).parse('')).toBe('')
  })

  it('of text is absent when blank', () => {
    for (const name of ['', ' ', '\t \n']) expect(schema.parse({ name })).toEqual({})
    expect(schema.parse({ name: ' x ' })).toEqual({ name: 'x' })
  })

  it('of text is refused with the message of its own rule', () => {
    expect(schema.safeParse({ name: 'x'.repeat(129) }).error?.issues).toMatchObject([
      { path: ['name'], message: 'must have at most 128 characters' },
    ])
    expect(schema.safeParse({ name: 7 }).error?.issues).toMatchObject([{ path: ['name'] }])
  })

  it('accepts no other empty value', () => {
    for (const flag of ['', 0, 'false', [], {}]) expect(accepts(schema, { flag })).toBe(false)
  })
})

describe('any JSON', () => {
  it('must be present and may be null', () => {
    const schema = z.object({ value: AnyJson })
    expect(accepts(schema, {})).toBe(false)
    expect(accepts(schema, { value: undefined })).toBe(false)
    expect(schema.safeParse({}).error?.issues[0]?.message).toBe('required')
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(schema.parse({ value })).toEqual({ value })
      }),
      { seed: inject('fuzzSeed') },
    )
  })
})

describe('a secret', () => {
  it('is unchanged at run time', () => {
    expect(secret(z.string().min(8)).parse('long enough')).toBe('long enough')
    expect(accepts(secret(z.string().min(8)), 'short')).toBe(false)
  })
})

describe('the input of a list', () => {
  const schema = z.object(listInput(['name', 'createdAt'], z.object({ text: optionalText(text(256)) })))

  it('may be empty, which means the whole list', () => {
    for (const value of [{}, { limit: null, cursor: null, sort: null, filter: null }, { cursor: '' }])
      expect(schema.parse(value)).toEqual({})
    expect(schema.parse({ filter: {} })).toEqual({ filter: {} })
  })

  it.each([1, 500])('accepts a limit of %d', limit => {
    expect(schema.parse({ limit })).toEqual({ limit })
  })

  it.each([0, -1, 501, 1.5, '10', true, 1e300])('refuses a limit of %j', limit => {
    expect(accepts(schema, { limit })).toBe(false)
  })

  it('sorts by its fields, in both directions, and by nothing else', () => {
    for (const sort of ['name', '-name', 'createdAt', '-createdAt'])
      expect(accepts(schema, { sort })).toBe(true)
    for (const sort of [
      '',
      '-',
      '--name',
      'Name',
      '+name',
      'constructor',
      '-__proto__',
      'name,createdAt',
      ['name'],
    ])
      expect(accepts(schema, { sort }), String(sort)).toBe(false)
  })
})

it.each(['', ' ', '\u3000', '\u200b\u200d', '\u00ad', '\u3164', '\u2800'])(
  'C9: a name without a visible character is refused: %j',
  name => {
    expect(accepts(Name, name)).toBe(false)
  },
)
