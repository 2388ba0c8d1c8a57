import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import {
  elementTexts,
  isJsonObject,
  jsonDepth,
  memberText,
  parseExact,
  parseLossless,
  RawJson,
  stringify,
} from './exact-json.ts'

// V8 13.6 has a bug in `JSON.parse`: a member whose name contains an escape, like `"\""`, can be confused with a member named
// by a backslash in an earlier object of the same shape. The tests compare with `JSON.parse`, so no name contains a backslash.
/** JSON texts of any value, compact or with one of three kinds of indentation. */
const text = fc
  .tuple(fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 }), fc.constantFrom(undefined, 2, '\t', ' \r\n'))
  .map(([value, indent]) => JSON.stringify(value, null, indent))
  .filter(one => !one.includes('\\\\'))
const key = fc.oneof(
  fc.constantFrom('value', 'name', '', '__proto__', 'constructor', '"', 'a:b', '},{'),
  fc.string().map(name => name.replaceAll('\\', '/')),
)
const blank = fc.constantFrom('', ' ', '\n\t', '\r\n ')

/** A key in which each character is written plainly or as an escape. */
function writtenKey(name: string): fc.Arbitrary<string> {
  return fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }).map(isEscaped => {
    const chars = Array.from({ length: name.length }, (_, at) =>
      isEscaped[at]
        ? `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`
        : JSON.stringify(name[at]).slice(1, -1),
    )
    return `"${chars.join('')}"`
  })
}

/** Members of a JSON object, and a text of this object in which each name is written plainly or with escapes. */
const object = fc.array(fc.tuple(key, text, blank, blank)).chain(members =>
  fc.tuple(...members.map(([name]) => writtenKey(name))).map(names => ({
    members,
    text: `{${members
      .map(([, value, before, after], at) => `${before}${names[at]}${after}:${before}${value}${after}`)
      .join(',')}}`,
  })),
)

describe('memberText', () => {
  it('is the member that JSON.parse finds, in its original spelling', () => {
    fc.assert(
      fc.property(object, ({ members, text }) => {
        const parsed = JSON.parse(text) as object
        for (const [name] of members) {
          const last = members.findLast(member => member[0] === name)!
          const found = memberText(text, name)
          expect(found).toBe(last[1].trim())
          expect(JSON.parse(found!)).toEqual(Object.getOwnPropertyDescriptor(parsed, name)!.value)
        }
      }),
      { seed: inject('fuzzSeed'), numRuns: 500 },
    )
  })

  it.each([0, 1, 2, 3, 4])('finds the end of a string with %i backslashes before a quote in it', count => {
    const value = `a${'\\'.repeat(count)}"b${'\\'.repeat(count)}`
    const text = JSON.stringify({ value, next: 1 })
    expect(memberText(text, 'value')).toBe(JSON.stringify(value))
    expect(memberText(text, 'next')).toBe('1')
  })

  it('is undefined for a missing member, even if its name occurs deeper', () => {
    fc.assert(
      fc.property(object, key, ({ members, text }, name) => {
        fc.pre(!members.some(member => member[0] === name))
        expect(memberText(text, name)).toBeUndefined()
      }),
      { seed: inject('fuzzSeed') },
    )
    expect(memberText('{"a":{"value":1},"b":[{"value":2}],"c":"value"}', 'value')).toBeUndefined()
  })

  it('is undefined for anything but an object', () => {
    for (const other of ['null', '1', '"value"', '[]', '["value",1]', '[{"value":1}]'])
      expect(memberText(other, 'value')).toBeUndefined()
  })

  it.each([
    ['{"value":1.0}', '1.0'],
    ['{"value":12345678901234567890}', '12345678901234567890'],
    ['{"value": 1 ,"x":2}', '1'],
    ['{"value":1,"value":2}', '2'],
    ['{"value":1,"\\u0076\\u0061lue":2}', '2'],
    ['{"x":"value","value":"x"}', '"x"'],
    ['{"value":"\\"},{"}', '"\\"},{"'],
    ['{"value":"\\\\"}', '"\\\\"'],
    ['{"value":{"value":1}}', '{"value":1}'],
    ['{"x":"a:b,c}","value":[{"}":"]"}]}', '[{"}":"]"}]'],
    ['{"":{},"value":null}', 'null'],
    ['{"\\\\":1,"\\"":2,"value":3,"\\\\":4}', '3'],
  ])('of %s is %s', (input, value) => {
    expect(memberText(input, 'value')).toBe(value)
  })

  it('takes time linear in the length', () => {
    const long = `{"x":${JSON.stringify('\\"'.repeat(1_000_000))},"value":${'['.repeat(30)}1${']'.repeat(30)}}`
    const start = performance.now()
    expect(memberText(long, 'value')).toHaveLength(61)
    expect(performance.now() - start).toBeLessThan(1_000)
  })
})

describe('elementTexts', () => {
  it('are the elements that JSON.parse finds, in their original spelling', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(blank, text, blank)), blank, (elements, inside) => {
        const array = `[${elements.map(parts => parts.join('')).join(',') || inside}]`
        expect(elementTexts(array)).toEqual(elements.map(([, element]) => element.trim()))
      }),
      { seed: inject('fuzzSeed'), numRuns: 500 },
    )
  })
})

describe('jsonDepth', () => {
  function depthOf(value: unknown): number {
    if (typeof value !== 'object' || value === null) return 0
    return 1 + Math.max(0, ...Object.values(value).map(depthOf))
  }

  it('is how deep arrays and objects are nested', () => {
    fc.assert(
      fc.property(text, one => {
        expect(jsonDepth(one)).toBe(depthOf(JSON.parse(one)))
      }),
      { seed: inject('fuzzSeed'), numRuns: 500 },
    )
  })

  it('ignores brackets inside strings', () => {
    expect(jsonDepth('"[[["')).toBe(0)
    expect(jsonDepth('["\\"[[", "\\\\", {"[": "{"}]')).toBe(2)
  })

  it('needs no stack and survives invalid JSON', () => {
    expect(jsonDepth('['.repeat(5_000_000))).toBe(5_000_000)
    for (const junk of ['', '"', '"\\', ']]]', '}{', '\0', '"["[']) expect(jsonDepth(junk)).toBeLessThan(2)
  })
})

describe('stringify', () => {
  it('equals JSON.stringify without raw texts', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(stringify(value)).toBe(JSON.stringify(value))
      }),
      { seed: inject('fuzzSeed') },
    )
  })

  it('puts every raw text where it belongs, unchanged', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), texts => {
        const raw = texts.map(one => new RawJson(one))
        expect(stringify(raw)).toBe(`[${texts.join(',')}]`)
        expect(stringify({ deep: raw.map(value => ({ value })) })).toBe(
          `{"deep":[${texts.map(one => `{"value":${one}}`).join(',')}]}`,
        )
      }),
      { seed: inject('fuzzSeed') },
    )
  })

  it('is not fooled by replacement patterns or by texts that look like placeholders', () => {
    const tricky = ['"$&"', '"$1"', '"$\'"', '"00000000-0000-4000-8000-000000000000:0"', '"\\u0000:0"']
    expect(stringify(tricky.map(one => new RawJson(one)))).toBe(`[${tricky.join(',')}]`)
    expect(stringify([new RawJson('1'), 'x:0', '"0"'])).toBe('[1,"x:0","\\"0\\""]')
  })

  it('can parse its own text', () => {
    expect(new RawJson('{"a":[1.0]}').parse()).toEqual({ a: [1] })
  })
})

describe('JSON.stringify of a RawJson', () => {
  it('writes numbers as they were written, other values as JavaScript writes them', () => {
    const raw = ['12345678901234567890', '-1.50', '1e400', '"\\u0061"', '[1.0]', 'null'].map(
      one => new RawJson(one),
    )
    expect(JSON.stringify({ raw })).toBe('{"raw":[12345678901234567890,-1.50,1e400,"a",[1],null]}')
    expect(JSON.stringify(raw[0], null, 2)).toBe('12345678901234567890')
  })
})

describe('parseExact', () => {
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.constantFrom('0', '7', '42', '9007199254740993', '12345678901234567890'),
      fc.constantFrom('', '.0', '.10', '.1234567890123456789'),
      fc.constantFrom('', 'e0', 'E3', 'e+21', 'e-7', 'E400', 'e-400'),
    )
    .map(parts => parts.join(''))

  it('keeps every number as it was written, by stringify and by JSON.stringify', () => {
    fc.assert(
      fc.property(fc.array(number), numbers => {
        const json = `{"a":[${numbers.join(',')}]}`
        expect(stringify(parseExact(json))).toBe(json)
        expect(JSON.stringify(parseExact(json))).toBe(json)
      }),
      { seed: inject('fuzzSeed') },
    )
  })

  it('gives numbers that JavaScript writes in the same way as numbers', () => {
    expect(parseExact('[0, 1.5, -7, 9007199254740991, 1e+21]')).toEqual([0, 1.5, -7, 9007199254740991, 1e21])
    expect(parseExact('[1.0, -0, 1e3]')).toEqual([new RawJson('1.0'), new RawJson('-0'), new RawJson('1e3')])
  })
})

describe('parseLossless', () => {
  it.each([
    '12345678901234567890',
    '-9007199254740993',
    '0.1234567890123456789',
    '1e400',
    '1E-400',
    '123456789.123456789123',
  ])('keeps %s as it was written', text => {
    const value = parseLossless(`{"a":[${text}]}`) as { a: unknown[] }
    expect(value.a[0]).toBeInstanceOf(RawJson)
    expect(String(value.a[0])).toBe(text)
    expect(JSON.stringify(value)).toBe(`{"a":[${text}]}`)
  })

  it.each(['0', '-0', '1.0', '1e3', '42500', '1.7976931348623157e+308', '9007199254740991', '0.1', '5e-324'])(
    'reads %s as an ordinary number',
    text => expect(parseLossless(`[${text}, 12345678901234567]`)).toEqual([Number(text), expect.anything()]),
  )

  it('leaves strings that look like numbers unchanged', () => {
    const text = '{"serial":"12345678901234567890","digest":"0123456789012345"}'
    expect(JSON.stringify(parseLossless(text))).toBe(text)
  })
})

describe('isJsonObject', () => {
  it('is true for objects, not for arrays, null or a number kept as RawJson', () => {
    expect(isJsonObject(parseExact('{"a":1}'))).toBe(true)
    for (const other of ['[]', 'null', '"{}"', '12345678901234567890'])
      expect(isJsonObject(parseExact(other))).toBe(false)
  })
})
