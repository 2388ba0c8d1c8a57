import { expect, it } from 'vitest'
import { fitColumns, NAME_PX, type Words } from './column-fit.ts'
import { COLUMN_IDS } from './column-ids.ts'

/** Words of a fleet with long names, warnings and a failed update. */
const words: Words = { name: 320, deviceId: 212, status: 190, version: 76, update: 134 }
const fit = (roomPx: number | undefined, { ids = [...COLUMN_IDS] as string[], ...others } = {}) =>
  fitColumns({ ids, chosen: {}, words, roomPx, mayHide: true, ...others })

it('C21: hides columns one by one until names have their room, and gives Name what is left', () => {
  const hidden = [1600, 1118, 1058, 1000, 800].map(roomPx => fit(roomPx).hidden)
  expect(hidden).toEqual([
    [],
    ['version'],
    ['version', 'lastSeen'],
    ['version', 'lastSeen'],
    ['version', 'lastSeen', 'update'],
  ])
  for (const roomPx of [1600, 1118, 1058, 1000]) {
    const { widths, sumPx } = fit(roomPx)
    expect(widths.name).toBeUndefined()
    expect(sumPx).toBeLessThanOrEqual(roomPx)
  }
  expect(fit(undefined).hidden).toEqual([])
})

it('C21: makes Status, Version and Update as wide as their words', () => {
  expect(fit(1600).widths).toMatchObject({ status: 190, version: 76, update: 134 })
  const calm = fit(1600, { words: { ...words, status: 121, version: 0, update: 88 } } as never)
  expect(calm.widths).toMatchObject({ status: 121, version: 70, update: 88 })
  const long = fit(1600, { words: { ...words, version: 900, update: 900 } } as never)
  expect(long.widths).toMatchObject({ version: 140, update: 200 })
})

it('C21: shows ids whole where all names are whole beside them', () => {
  expect(fit(1600)).toMatchObject({ hasWholeIds: true, widths: { deviceId: 212 } })
  expect(fit(1210)).toMatchObject({ hasWholeIds: false, widths: { deviceId: 118 } })
  const few = { ids: ['name', 'deviceId', 'status'], mayHide: false } as never
  expect(fit(1118, few)).toMatchObject({ hasWholeIds: true })
})

it('C21: keeps chosen widths, and scrolls where chosen columns are wider than the room', () => {
  const chosen = { ids: ['name', 'status', '=site'], mayHide: false, chosen: { status: 300 } } as never
  expect(fit(1118, chosen)).toMatchObject({ isBroad: false, widths: { status: 300, '=site': 160 } })
  expect(fit(700, chosen)).toMatchObject({ isBroad: true, widths: { name: NAME_PX } })
})
