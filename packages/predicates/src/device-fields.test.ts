import { expect, it } from 'vitest'
import { CONDITION_FIELDS, DEVICE_FIELDS, fieldsWith, memberOf } from './device-fields.ts'

const names = fieldsWith({})

it('fields of a device have names, members and words of their own', () => {
  const words = fieldsWith({ column: true }).map(name => DEVICE_FIELDS[name].words)
  for (const texts of [names.map(memberOf), words]) expect(new Set(texts).size).toBe(texts.length)
  // A name that is the member of another field would mean two things in a sort order.
  for (const name of names)
    expect(names.filter(other => memberOf(other) === name && other !== name)).toEqual([])
})

it('fields that people see have words', () => {
  const shown = [...fieldsWith({ column: true }), ...CONDITION_FIELDS]
  expect(shown.filter(name => !DEVICE_FIELDS[name].words)).toEqual([])
})

it('only sort orders need to read all devices', () => {
  expect(fieldsWith({ sort: true })).toEqual(expect.arrayContaining(fieldsWith({ scans: true })))
})

it('fields are found by their properties, in their order', () => {
  expect(fieldsWith({ type: 'text', condition: true })).toEqual(['version', 'update'])
  expect(fieldsWith({ column: true }).slice(0, 2)).toEqual(['name', 'deviceId'])
})
