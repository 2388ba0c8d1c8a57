import { DEVICE_FIELDS, fieldsWith, memberOf } from '@muster/predicates'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { DeviceFilter, DeviceSort, ListColumn } from './device-filters.ts'
import { actions } from './registry.ts'

const FIELDS = fieldsWith({})

it('the answer of the device list has each field of a device, with its type', () => {
  const { element } = actions.projects_QueryDevices.output.shape.devices
  const { properties = {} } = z.toJSONSchema(element, { io: 'input' })
  const types = Object.entries(properties).map(([member, schema]) => {
    const { type, format } = schema as { type: string; format?: string }
    return [member, format === 'date-time' ? 'time' : type]
  })
  const names = { text: 'string', time: 'time', count: 'integer', boolean: 'boolean' }
  expect(Object.fromEntries(types)).toEqual({
    ...Object.fromEntries(FIELDS.map(name => [memberOf(name), names[DEVICE_FIELDS[name].type]])),
    currentConnectionDurationSecs: 'integer',
    properties: 'object',
  })
})

it('the device list can be sorted by some fields, in both directions', () => {
  const sorted = fieldsWith({ sort: true })
  for (const name of FIELDS)
    for (const sign of ['', '-'])
      expect([name, DeviceSort.safeParse(`${sign}${memberOf(name)}`).success]).toEqual([
        name,
        sorted.some(one => one === name),
      ])
})

it('a stored view has all columns but the name', () => {
  expect(['name', ...ListColumn.options]).toEqual(fieldsWith({ column: true }))
})

it('a condition compares texts with texts, and times with the seconds since then', () => {
  const accepted = (field: string, operator: string, value?: unknown) =>
    DeviceFilter.safeParse({ fields: [{ field, operator, value }] }).success
  for (const name of FIELDS) {
    const { type, condition = false }: { type: string; condition?: boolean } = DEVICE_FIELDS[name]
    expect([name, accepted(name, 'exists')]).toEqual([name, condition])
    expect([name, accepted(name, 'equals', 'a')]).toEqual([name, condition && type === 'text'])
    expect([name, accepted(name, 'less', 60)]).toEqual([name, condition && type === 'time'])
  }
})
