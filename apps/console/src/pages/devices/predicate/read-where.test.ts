import { printPredicate, readPredicate } from '@muster/predicates'
import { expect, it } from 'vitest'
import { conditionText } from '../shared/conditions.ts'
import { joinedAt, leafAt, splitAt, withLeaf, withoutLeaf } from './edit-where.ts'
import { leafOf } from './items.ts'
import { readText, readWhere } from './read-where.ts'

const inWords = (text: string) =>
  readWhere(text).items?.map(item =>
    'any' in item ? item.any.map(({ condition }) => conditionText(condition)) : conditionText(item.condition),
  )

it('reads older addresses as before, and shows their text', () => {
  const where = readWhere(
    '[["version","equals","2.4.1"],["#lastSeen","greater","24 h"],["note","absent",""]]',
  )
  expect(where).toMatchObject({
    filter: {
      properties: [
        { property: 'version', operator: 'equals', value: '2.4.1' },
        { property: 'note', operator: 'absent' },
      ],
      fields: [{ field: 'lastSeen', operator: 'greater', value: 86_400 }],
    },
    shown: ['version'],
    isText: false,
    text: 'version = "2.4.1" and device.lastSeen < 1 d ago and not exists note',
  })
})

it.each<[string, (string | string[])[]]>([
  [
    'label.site = "pier4" and not device.connected',
    ['dev.muster.labels.site is pier4', 'Connected is false'],
  ],
  ['label.ring in ["canary", "early"]', ['dev.muster.labels.ring is one of canary, early']],
  ['not exists floor or floor != 4', ['floor is not 4']],
  ['floor != 4 and not note = "x"', ['floor is there, but not 4', 'note is there, but not x']],
  ['not exists floor or not floor in [1, 2]', ['floor is none of 1, 2']],
  [
    '(device.update = "failed" or device.status = "error") and device.connected',
    [['Update is failed', 'Status is error'], 'Connected is true'],
  ],
  [
    'property["dev.nexigon.ota.status"].state = "failed"',
    ['property["dev.nexigon.ota.status"].state is failed'],
  ],
  ['device.version satisfies ">=2.0.0"', ['Version meets >=2.0.0']],
  ['device.lastSeen > 7 d ago and load <= 4', ['Last seen is less than 7 d ago', 'load is at most 4']],
])('shows %s in the form', (text, words) => {
  expect(inWords(text)).toEqual(words)
  expect(readWhere(text).filter).toEqual({ predicate: readPredicate(text) })
  for (const item of readWhere(text).items!)
    for (const { condition } of 'any' in item ? item.any : [item])
      expect(readWhere(printPredicate(leafOf(condition).expr)).items).toMatchObject([{ condition }])
})

it.each(['not (a = 1 and b = 2)', 'a = 1 or (b = 2 and c = 3)', 'a else 1 = 2', 'a contains exactly "x"'])(
  'leaves %s to the text form',
  text => expect(readWhere(text)).toMatchObject({ items: undefined, isText: true, text }),
)

it('names the place of what is wrong', () => {
  const problem = (text: string) => {
    const read = readText(text)
    return 'problem' in read && [read.problem.line, read.problem.column, text.slice(read.problem.at)]
  }
  expect(problem('label.site = "pier4" and')).toEqual([1, 25, ''])
  expect(problem('floor > 3\nand device.nam = "x"')).toEqual([2, 12, 'nam = "x"'])
  expect(problem('floor = 3 and\n(device.name < 4 or a = 1)')).toEqual([2, 2, 'device.name < 4 or a = 1)'])
  expect(problem('floor and (not 4)')).toEqual([1, 16, '4)'])
  expect(problem('floor = 3\nand 4')).toEqual([2, 5, '4'])
  expect(readText('device.nam = "x"')).toMatchObject({ problem: { suggestion: 'name', length: 3 } })
  expect(readWhere('device.nam = "x"')).toMatchObject({ filter: {}, problem: { column: 8 } })
})

it('keeps conditions as JSON until one of them needs a predicate, and a text as a text', () => {
  const json = '[["version","equals","2.4.1"]]'
  const site = { property: 'dev.muster.labels.site', operator: 'equals' as const, value: 'pier4' }
  const plain = withLeaf(readWhere(json), undefined, leafOf(site))
  expect(plain.text).toBe('[["version","equals","2.4.1"],["dev.muster.labels.site","equals","pier4"]]')
  expect(plain.where.shown).toEqual(['version', 'dev.muster.labels.site'])
  const list = { ...site, operator: 'oneOf' as const, value: ['pier4', 'pier9'] }
  const text = 'version = "2.4.1" and label.site in ["pier4","pier9"]'
  expect(withLeaf(readWhere(json), undefined, leafOf(list)).text).toBe(text)
  expect(withoutLeaf(readWhere(text), '1').text).toBe('version = "2.4.1"')
  expect(withLeaf(readWhere('a else 1 = 2'), undefined, leafOf(site)).text).toBe(
    'a else 1 = 2 and label.site = "pier4"',
  )
  expect(withLeaf(undefined, undefined, leafOf(site)).text).toBe(
    '[["dev.muster.labels.site","equals","pier4"]]',
  )
})

it('makes groups of conditions, and takes them apart', () => {
  const joined = joinedAt(readWhere('a = 1 and b = 2 and c = 3'), 1)
  expect(joined.text).toBe('(a = 1 or b = 2) and c = 3')
  const where = readWhere(joined.text!)
  expect(leafAt(where, '0.1')?.condition.property).toBe('b')
  expect(joinedAt(where, 1).text).toBe('a = 1 or b = 2 or c = 3')
  expect(splitAt(where, 0).text).toBe('a = 1 and b = 2 and c = 3')
  expect(withoutLeaf(where, '0.0').text).toBe('b = 2 and c = 3')
  expect(withLeaf(where, '0.1', leafOf({ property: 'd', operator: 'exists' })).text).toBe(
    '(a = 1 or exists d) and c = 3',
  )
})
