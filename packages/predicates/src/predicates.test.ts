import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  DEVICE_FIELDS,
  evaluate,
  type Json,
  type JsonExpr,
  MAX_PREDICATE_LENGTH,
  printPredicate,
  problemsOf,
  readPredicate,
} from './index.ts'

const NOW_MS = Date.parse('2026-11-29T12:00:00.000Z')
const PROPERTIES: Record<string, Json> = {
  'dev.muster.labels': { site: 'pier4', 'a.b': 'x' },
  'dev.nexigon.ota.status': { state: 'failed', steps: [1, 2] },
  'dev.muster.device.connected': true,
  'dev.muster.device.lastSeen': '2026-11-20T12:00:00.000Z',
  floor: 4,
  nothing: null,
  text: 'Pier 4',
  version: '1.10.0',
}
const outcomeOf = (text: string) =>
  evaluate(readPredicate(text), { valueOf: name => PROPERTIES[name], nowMs: NOW_MS })

it.each<[string, boolean | string]>([
  ['label.site = "pier4" and property["dev.nexigon.ota.status"].state = "failed"', true],
  ['label["a.b"] in ["x", "y"] and not device.connected', false],
  ['device.lastSeen < 7 days ago', true],
  ['device.lastSeen < 10 d ago', false],
  ['property["dev.nexigon.ota.status"].steps[1] = 2.0', true],
  ['text contains "PIER"', true],
  ['text contains exactly "PIER"', false],
  ['text > "Pier 1000"', true],
  ['exists nothing and nothing = null', true],
  ['exists label.ring', false],
  ['not exists label.ring or label.ring != "canary"', true],
  ['label.ring else "stable" = "stable"', true],
  ['label.ring = "canary"', 'label.ring is not set'],
  ['not label.ring = "canary"', 'label.ring is not set'],
  ['label.ring = "canary" or floor >= 4', true],
  ['label.ring = "canary" and floor < 4', false],
  ['floor > "4"', 'only two numbers or two texts have an order'],
  ['version satisfies ">=1.2.0, <2.0.0"', true],
  ['version satisfies ">1.10.0-rc.1, !=v1.10"', true],
  ['version satisfies "<1.9"', false],
  ['label.site satisfies ">3"', true],
  ['nothing satisfies ">3"', 'nothing is no text'],
  ['"none" satisfies ">3"', '"none" is no version'],
  ['text and floor = 4', 'text is no truth value'],
])('%s: %s', (text, outcome) => {
  expect(outcomeOf(text)).toEqual(typeof outcome === 'string' ? { reason: outcome } : outcome)
})

it.each([
  ['label.site = ', 1, 14, 'found the end, expected a value'],
  ['floor contians "4"', 1, 7, 'did you mean contains?'],
  ['floor = 4 and\n  device.hostnam = "a"', 2, 10, 'did you mean hostname?'],
  ['site-name = 1', 1, 5, 'found -, expected a word, a value or a sign'],
  ['floor = "a', 1, 9, 'expected a quote at the end of the text'],
  ['device.lastSeen < 3 weeks', 1, 21, 'a unit of time: s, min, h or d'],
  ['device.lastSeen < 1.5 s ago', 1, 23, 'whole seconds'],
  ['a satisfies 1.2', 1, 13, 'a requirement in quotes, as in ">=1.2.0, <2.0.0"'],
  ['list[-1] = 1', 1, 8, 'a whole number, not below 0'],
  ['a = 1 2', 1, 7, 'found 2, expected and, or, or the end'],
  ['('.repeat(60), 1, 50, 'at most 48 levels'],
  ['x'.repeat(MAX_PREDICATE_LENGTH + 1), 1, 1, `expected at most ${MAX_PREDICATE_LENGTH}`],
])('a text is refused with its place: %s', (text, line, column, message) => {
  expect(() => readPredicate(text)).toThrow(
    expect.objectContaining({ line, column, message: expect.stringContaining(message) }),
  )
})

const name = (name: string): JsonExpr => ({ kind: 'NamedValue', name })
const nested = (depth: number): JsonExpr =>
  depth === 0 ? name('a') : { kind: 'Not', expr: nested(depth - 1) }

it.each<[string, JsonExpr, string]>([
  ['a value', { kind: 'Literal', value: 1 }, 'found a number, expected a condition'],
  [
    'an unknown field',
    { kind: 'Not', expr: name('dev.muster.device.nam') },
    'expected one of name, deviceId',
  ],
  ['a current value', { kind: 'Current' }, 'only mutations have a current value'],
  ['an order of truth values', readPredicate('device.connected < true'), 'found a truth value'],
  ['an order of two types', readPredicate('device.name < 1'), 'found a text and a number'],
  ['a depth', nested(100), 'found expressions nested 25 deep'],
  [
    'many properties',
    { kind: 'And', exprs: Array.from({ length: 17 }, (_, index) => name(`p${index}`)) },
    'found 17 properties',
  ],
  ['many expressions', { kind: 'Or', exprs: Array(200).fill(name('a')) }, 'found more than 200 expressions'],
  [
    'a cost',
    readPredicate(
      Array.from({ length: 12 }, (_, at) => `device.version satisfies ">${at}.1" or a = ${at}`).join(' or '),
    ),
    'found a cost of 132',
  ],
  ['no conditions', { kind: 'And', exprs: [] }, 'found And without conditions'],
  [
    'a requirement without signs',
    readPredicate('a satisfies "1.2"'),
    'found the requirement "1.2", expected',
  ],
  ['a requirement on words', readPredicate('a satisfies ">=1.2, <b"'), 'such as >=1.2.0, <2.0.0'],
  ['an empty requirement', readPredicate('a satisfies ""'), 'found the requirement ""'],
  ['a version that is a number', readPredicate('1 satisfies ">1"'), 'found a number, expected a text'],
  ['a text that cannot be stored', readPredicate('a = "\\u0000"'), 'a value with U+0000'],
])('%s is refused', (_, predicate, message) => {
  expect(
    problemsOf(predicate).map(({ found, expected }) => `found ${found}, expected ${expected}`),
  ).toContainEqual(expect.stringContaining(message))
})

it('the text form keeps what needs brackets', () => {
  const texts = [
    '(a or b) and c',
    'not (a and b)',
    '(a = 1) = true',
    '(a else b).c[0]["d e"] else {"f": [1]} = null',
    'exists (a.b).c',
    'not a.b satisfies ">=1.2,<2"',
    'property["and"] = "x" and property["a.b"].c = 1',
    'device.lastSeen > 90 min ago',
  ]
  for (const text of texts) {
    const printed = printPredicate(readPredicate(text))
    expect(printed.replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
    expect(readPredicate(printed)).toEqual(readPredicate(text))
  }
})

it('docs/predicates.md has every field, and recipes that can be read', () => {
  const document = readFileSync(join(import.meta.dirname, '../../../docs/predicates.md'), 'utf8')
  const table = /## Fields of a device\n([\s\S]*?)\n## /.exec(document)![1]!
  const fields = [...table.matchAll(/`(\w+)`(?=[^|]*\| )/g)].map(([, field]) => field!)
  expect(fields.filter(field => field in DEVICE_FIELDS).sort()).toEqual(Object.keys(DEVICE_FIELDS).sort())
  const recipes = /```predicate\n([\s\S]*?)\n```/.exec(document)![1]!.split('\n')
  expect(recipes).toHaveLength(20)
  for (const recipe of recipes) expect(problemsOf(readPredicate(recipe)), recipe).toEqual([])
})
