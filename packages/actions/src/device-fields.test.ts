import { DEVICE_FIELDS, LIST_FIELDS, SORT_NAMES } from '@muster/predicates'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { DeviceFilter, DeviceSort, ListColumn } from './device-filters.ts'
import { actions } from './registry.ts'

const FIELDS = Object.entries(DEVICE_FIELDS).map(([name, field]) => ({
  name,
  member: name,
  condition: false,
  ...field,
}))

it('the answer of the device list has each field of a device, with its type', () => {
  const { element } = actions.projects_QueryDevices.output.shape.devices
  const { properties = {} } = z.toJSONSchema(element, { io: 'input' })
  const types = Object.entries(properties).map(([member, schema]) => {
    const { type, format } = schema as { type: string; format?: string }
    return [member, format === 'date-time' ? 'time' : type]
  })
  const names = { text: 'string', time: 'time', count: 'integer', boolean: 'boolean' }
  expect(Object.fromEntries(types)).toEqual({
    ...Object.fromEntries(FIELDS.map(({ member, type }) => [member, names[type]])),
    currentConnectionDurationSecs: 'integer',
    properties: 'object',
    labels: 'object',
    match: 'object',
  })
})

it('the device list can be sorted by some fields, in both directions', () => {
  for (const { member } of FIELDS)
    for (const sign of ['', '-'])
      expect([member, DeviceSort.safeParse(sign + member).success]).toEqual([
        member,
        (SORT_NAMES as string[]).includes(member),
      ])
})

it('a stored view has all columns but the name', () => {
  expect(['name', ...ListColumn.options]).toEqual(Object.keys(LIST_FIELDS))
})

it('a condition compares texts with texts, and times with the seconds since then', () => {
  const accepted = (field: string, operator: string, value?: unknown) =>
    DeviceFilter.safeParse({ fields: [{ field, operator, value }] }).success
  for (const { name, type, condition } of FIELDS) {
    expect([name, accepted(name, 'exists')]).toEqual([name, condition])
    expect([name, accepted(name, 'equals', 'a')]).toEqual([name, condition && type === 'text'])
    expect([name, accepted(name, 'less', 60)]).toEqual([name, condition && type === 'time'])
  }
})
