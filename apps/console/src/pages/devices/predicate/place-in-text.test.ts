import { expect, it } from 'vitest'
import { placeInText } from './place-in-text.ts'

/** The place of the mark `|` in a text: what may stand there, the typed part, and the text that is replaced. */
function at(marked: string) {
  const text = marked.replace('|', '')
  const { wanted, part, from, to } = placeInText(text, marked.indexOf('|'))
  return { ...wanted, part, replaced: text.slice(from, to) }
}

it.each([
  ['|', { kind: 'subject', part: '' }],
  ['flo|', { kind: 'subject', part: 'flo', replaced: 'flo' }],
  ['fl|oor = 1', { kind: 'subject', part: 'fl', replaced: 'floor' }],
  ['label.|', { kind: 'label', part: '', replaced: '.' }],
  ['label.si|', { kind: 'label', part: 'si', replaced: '.si' }],
  ['label["a|"] = "x"', { kind: 'label', part: 'a', replaced: '["a"]' }],
  ['device.con|', { kind: 'field', part: 'con', replaced: 'con' }],
  ['a = 1 and property["dev.n|', { kind: 'property', part: 'dev.n', replaced: 'property["dev.n' }],
  ['floor |', { kind: 'operator', subject: 'floor' }],
  ['property["a.b"] |', { kind: 'operator', subject: 'a.b' }],
  ['label.site co|', { kind: 'operator', subject: 'dev.muster.labels.site', part: 'co' }],
  ['label.site = |', { kind: 'value', subject: 'dev.muster.labels.site', isList: false }],
  ['label.site = "pi|', { kind: 'value', part: 'pi', replaced: '"pi' }],
  ['label.site = "pi|er"', { kind: 'value', part: 'pi', replaced: '"pier"' }],
  ['label.site in ["pier4", |', { kind: 'value', subject: 'dev.muster.labels.site', isList: true }],
  ['label.site in ["pier4"] |', { kind: 'join' }],
  ['device.lastSeen < 7 d ago |', { kind: 'join' }],
  ['floor = 4 an|', { kind: 'join', part: 'an' }],
  ['floor = 4 and |', { kind: 'subject' }],
  ['not (|', { kind: 'subject' }],
  ['(a = 1) |', { kind: 'join' }],
  ['exists floor |', { kind: 'operator', subject: 'floor' }],
  ['device.version satisfies |', { kind: 'value', subject: '#version' }],
  ['a else 1 |', { kind: 'join' }],
])('knows what may stand at %s', (marked, place) => {
  expect(at(marked)).toMatchObject(place)
})
