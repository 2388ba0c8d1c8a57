import { expect, it } from 'vitest'
import { devicesInput, sortOf } from './devices-input.ts'

it('asks for what the address says and for nothing that it does not say', () => {
  expect(devicesInput('p_1', {})).toEqual({ projectId: 'p_1', limit: 100 })
  expect(devicesInput('p_1', { q: '  ', sort: 'firstSeen' })).toEqual({ projectId: 'p_1', limit: 100 })
  expect(devicesInput('p_1', { q: ' gw ', status: 'pending', sort: '-name' })).toEqual({
    projectId: 'p_1',
    limit: 100,
    filter: { text: 'gw', status: 'pending' },
    sort: '-name',
  })
})

it('falls back to first seen for an order that is none', () => {
  expect(sortOf({ sort: 'toString' })).toBe('firstSeen')
  expect(sortOf({ sort: '--name' })).toBe('firstSeen')
  expect(sortOf({ sort: '-status' })).toBe('-status')
})
