import { expect, it } from 'vitest'
import { devicesInput, sortOf } from './devices-input.ts'

it('asks for what the address says and for nothing that it does not say', () => {
  const all = { projectId: 'p_1', limit: 50, countTotal: false }
  expect(devicesInput('p_1', {})).toEqual(all)
  expect(devicesInput('p_1', { q: '  ', sort: 'firstSeen' })).toEqual(all)
  expect(devicesInput('p_1', { q: ' gw ', status: 'pending', sort: '-name' })).toEqual({
    projectId: 'p_1',
    limit: 50,
    filter: { text: 'gw', status: 'pending' },
    countTotal: true,
    sort: '-name',
  })
})

it('falls back to first seen for an order that is none', () => {
  expect(sortOf({ sort: 'toString' })).toBe('firstSeen')
  expect(sortOf({ sort: '--name' })).toBe('firstSeen')
  expect(sortOf({ sort: '-status' })).toBe('-status')
})
