import { expect, it } from 'vitest'
import { NAME_KEYS, nameKey } from './name-key.ts'

/** Names in the order of the bytes of their keys, as PostgreSQL compares them. */
const ordered = (names: readonly string[]) =>
  names.toSorted((a, b) => Buffer.compare(Buffer.from(nameKey(a)), Buffer.from(nameKey(b))))

it('D10: names of every script sort by numbers, and ignore case and accents', () => {
  const names = [
    '',
    '-',
    '2',
    '10',
    '_x',
    'Äpfel',
    'apfel 2',
    'device-1',
    'Device-01x',
    'device-2',
    'device-10',
    'device-10.9',
    'device-10.10',
    `device-${'9'.repeat(9)}`,
    `device-1${'0'.repeat(12)}`,
    'Øresund',
    'ôresunda',
    'STRASSE',
    'straße',
    'Übung',
    'zebra',
    'αθηνα',
    'Αθήνα 2',
    'насос-2',
    'Насос-10',
    'جهاز ٢',
    'جهاز ١٠',
    'पंप-२',
    'पंप-१०',
    '가나',
    '각',
    'ポンプ２',
    'ポンプ１０',
    '水泵2',
    '水泵10',
    '🚀2',
    '🚀10',
  ]
  expect(ordered(names.toReversed())).toEqual(names)
  expect(ordered(['Zebra', 'zebra', 'Zebra', 'zébra'])).toEqual(['Zebra', 'Zebra', 'zebra', 'zébra'])
})

it('D10: each name has a key of its own that fits into an index', () => {
  const names = ['a', 'A', 'á', 'a1', 'a01', 'a\u0001', '\u0001a', 'ﷺ', '𝟙', '1', 'a\ud800']
  expect(new Set(names.map(nameKey)).size).toBe(names.length)
  for (const name of [
    'ﷺ'.repeat(128),
    '𝕬'.repeat(128),
    '水'.repeat(253),
    '9'.repeat(253),
    '\ud800'.repeat(128),
  ]) {
    const key = nameKey(name)
    expect(Buffer.byteLength(key)).toBeLessThan(2_600)
    expect(key >= NAME_KEYS.from && key < NAME_KEYS.below && key.isWellFormed()).toBe(true)
  }
})
