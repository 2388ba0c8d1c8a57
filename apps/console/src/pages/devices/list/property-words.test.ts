import { expect, it } from 'vitest'
import { propertyWords } from './property-words.ts'

const NAME = { path: 'app', deviceCount: 3, distinctCount: 2, kinds: [] }

it.each([
  [{ kinds: ['string'] }, 'text, 2 values'],
  [{ kinds: ['string'], example: '2026-09-30', distinctCount: 9 }, 'date, for example “2026-09-30”'],
  [{ kinds: ['number'], lowest: -113, highest: 44_900 }, 'number, -113 to 44,900'],
  [{ kinds: ['number'], lowest: 4, highest: 4, distinctCount: 1 }, 'number, 4'],
  [{ kinds: ['number'], distinctCount: 1 }, 'number, 1 value'],
  [{ kinds: ['boolean'] }, 'true or false'],
  [{ kinds: ['number', 'string'], lowest: 1, highest: 2 }, 'number, text, 2 values'],
  [{ kinds: ['object'] }, 'object, 2 values'],
  [{ kinds: ['binary'] }, 'binary, 2 values'],
  [{ kinds: ['string', 'constructor'] }, 'text, constructor, 2 values'],
  [{}, 'large values'],
])('says of %j: %s', (name, words) => {
  expect(propertyWords({ ...NAME, ...name } as never)).toBe(words)
})
