import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { elementTexts, jsonDepth, memberText, RawJson, stringify } from './raw-json.ts'

// V8 13.6 confuses a member whose name is written with an escape, like `"\""`, with one named by a backslash that it saw in an
// earlier object of the same shape. JSON.parse is the yardstick here, so no name has a backslash in it.
/** JSON texts as they may come: any value, any member order, blanks anywhere. */
const text = fc
  .tuple(fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 }), fc.constantFrom(undefined, 2, '\t', ' \r\n'))
  .map(([value, indent]) => JSON.stringify(value, null, indent))
  .filter(one => !one.includes('\\\\'))
const key = fc.oneof(
  fc.constantFrom('value', 'name', '', '__proto__', 'constructor', '"', 'a:b', '},{'),
  fc.string().map(name => name.replaceAll('\\', '/')),
)
const blank = fc.constantFrom('', ' ', '\n\t', '\r\n ')

/** A key with each of its characters as it is or as an escape. */
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

/** The text of an object with its members as they were written. */
const object = fc.array(fc.tuple(key, text, blank, blank)).chain(members =>
  fc.tuple(...members.map(([name]) => writtenKey(name))).map(names => ({
    members,
    text: `{${members
      .map(([, value, before, after], at) => `${before}${names[at]}${after}:${before}${value}${after}`)
      .join(',')}}`,
  })),
)

describe('memberText', () => {
  it('is the member as JSON.parse sees it, in the very text that was written', () => {
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
      { numRuns: 500 },
    )
  })

  it('is nothing for a member that is not there, however deep its name stands', () => {
    fc.assert(
      fc.property(object, key, ({ members, text }, name) => {
        fc.pre(!members.some(member => member[0] === name))
        expect(memberText(text, name)).toBeUndefined()
      }),
    )
    expect(memberText('{"a":{"value":1},"b":[{"value":2}],"c":"value"}', 'value')).toBeUndefined()
  })

  it('is nothing for what is no object', () => {
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

  it('takes no longer than the text is long', () => {
    const long = `{"x":${JSON.stringify('\\"'.repeat(1_000_000))},"value":${'['.repeat(30)}1${']'.repeat(30)}}`
    const start = performance.now()
    expect(memberText(long, 'value')).toHaveLength(61)
    expect(performance.now() - start).toBeLessThan(1_000)
  })
})

describe('elementTexts', () => {
  it('are the elements as JSON.parse sees them, in the very texts that were written', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(blank, text, blank)), blank, (elements, inside) => {
        const array = `[${elements.map(parts => parts.join('')).join(',') || inside}]`
        expect(elementTexts(array)).toEqual(elements.map(([, element]) => element.trim()))
      }),
      { numRuns: 500 },
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
      { numRuns: 500 },
    )
  })

  it('looks at no bracket inside a text', () => {
    expect(jsonDepth('"[[["')).toBe(0)
    expect(jsonDepth('["\\"[[", "\\\\", {"[": "{"}]')).toBe(2)
  })

  it('needs no stack and survives what is no JSON', () => {
    expect(jsonDepth('['.repeat(5_000_000))).toBe(5_000_000)
    for (const junk of ['', '"', '"\\', ']]]', '}{', '\0', '"["[']) expect(jsonDepth(junk)).toBeLessThan(2)
  })
})

describe('stringify', () => {
  it('is JSON.stringify where there is no raw text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(stringify(value)).toBe(JSON.stringify(value))
      }),
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
    )
  })

  it('is not fooled by replacement patterns or by what looks like a place holder', () => {
    const tricky = ['"$&"', '"$1"', '"$\'"', '"00000000-0000-4000-8000-000000000000:0"', '"\\u0000:0"']
    expect(stringify(tricky.map(one => new RawJson(one)))).toBe(`[${tricky.join(',')}]`)
    expect(stringify([new RawJson('1'), 'x:0', '"0"'])).toBe('[1,"x:0","\\"0\\""]')
  })

  it('can read what it holds', () => {
    expect(new RawJson('{"a":[1.0]}').parse()).toEqual({ a: [1] })
  })
})
