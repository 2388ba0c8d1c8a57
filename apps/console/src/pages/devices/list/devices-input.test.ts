import { expect, it } from 'vitest'
import { readSearch } from '../../../lib/app/search.ts'
import { devicesSearch } from '../shared/device-search.ts'
import { devicesInput, sortOf } from './devices-input.ts'

it('sends exactly the filter and order of the search parameters', () => {
  const all = { projectId: 'p_1', limit: 50, countTotal: false, sort: '-firstSeen' }
  expect(devicesInput('p_1', {})).toEqual(all)
  expect(devicesInput('p_1', { q: '  ', sort: '-firstSeen' })).toEqual(all)
  expect(devicesInput('p_1', { q: ' gw ', status: 'pending', sort: '-name' })).toEqual({
    projectId: 'p_1',
    limit: 50,
    filter: { text: 'gw', status: 'pending' },
    countTotal: false,
    sort: '-name',
  })
})

it('filters by what needs attention', () => {
  expect(devicesInput('p_1', { show: 'error' })).toMatchObject({ filter: { health: 'error' } })
  expect(devicesInput('p_1', { show: 'offlineLong', status: 'pending' })).toMatchObject({
    filter: { preset: 'offlineLong', status: 'pending' },
  })
  expect(
    ['updateFailed', 'toString', '1', undefined].map(
      show => readSearch(devicesSearch, { ...(show && { show }) }).show,
    ),
  ).toEqual(['updateFailed', undefined, undefined, undefined])
})

it('filters by the failure of an update', () => {
  expect(devicesInput('p_1', { error: 'disk # is full' })).toMatchObject({
    filter: { updateError: 'disk # is full' },
  })
  expect(devicesInput('p_1', { error: 'disk # is full', target: '=2.0' })).toMatchObject({
    filter: { updateFailure: { targetVersion: '2.0', error: 'disk # is full' } },
  })
  expect(devicesInput('p_1', { target: '=' })).toMatchObject({
    filter: { updateFailure: { targetVersion: '' } },
  })
})

it('sorts by first seen, newest first, if the order is absent or invalid', () => {
  expect(sortOf({})).toBe('-firstSeen')
  expect(sortOf({ sort: 'toString' })).toBe('-firstSeen')
  expect(sortOf({ sort: '--name' })).toBe('-firstSeen')
  expect(sortOf({ sort: '=' })).toBe('-firstSeen')
  expect(sortOf({ sort: '-status' })).toBe('-status')
  expect(sortOf({ sort: '-=app.modem' })).toBe('-=app.modem')
})
