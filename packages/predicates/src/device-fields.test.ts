import { expect, it } from 'vitest'
import { CONDITION_FIELDS, DEVICE_FIELDS, fieldsWith, LIST_FIELDS, SORT_NAMES } from './device-fields.ts'

it('fields of a device have names, members and words of their own', () => {
  const words = Object.values(LIST_FIELDS).map(field => field.words)
  expect(new Set(words).size).toBe(words.length)
  // A member that is the name of another field would mean two things.
  const names = Object.entries(DEVICE_FIELDS).flatMap(([name, field]) =>
    'member' in field ? [name, field.member] : name,
  )
  expect(new Set(names).size).toBe(names.length)
})

it('only sort orders need to read all devices', () => {
  expect(fieldsWith({ sort: true })).toEqual(expect.arrayContaining(fieldsWith({ scans: true })))
})

it('fields are found by their properties, in the order of the columns', () => {
  expect(fieldsWith({}).slice(0, 2)).toEqual(['name', 'deviceId'])
  expect(CONDITION_FIELDS).toEqual(expect.arrayContaining(['version', 'update', 'lastSeen']))
  expect(SORT_NAMES).toContain('lastSeenAt')
})
