import { expect, it } from 'vitest'
import type { Disk } from '../well-known.ts'
import { freeSpaceOf, isAboutSpace } from './free-space.ts'

const MIB = 1024 * 1024
const disk = (mountPoint: string, totalMib: number, availableMib: number): Disk => ({
  name: '/dev/sda1',
  filesystem: 'ext4',
  mountPoint,
  totalBytes: totalMib * MIB,
  availableBytes: availableMib * MIB,
  availableShare: availableMib / totalMib,
})

it('names disks that are nearly full, and those that could hold the file but have no room for it', () => {
  const disks = [
    disk('/', 2_000, 1_000),
    disk('/boot', 100, 60),
    disk('/data', 1_000, 300),
    disk('/log', 500, 40),
  ]
  const places = (neededBytes: number | undefined) =>
    freeSpaceOf(disks, neededBytes).map(({ place }) => place)
  expect(places(undefined)).toEqual(['/log'])
  expect(places(318 * MIB)).toEqual(['/log', '/data'])
  expect(freeSpaceOf(disks, undefined)).toEqual([{ place: '/log', freeBytes: 40 * MIB, freePercent: 8 }])
  const unknown = { ...disk('/', 1, 0), totalBytes: undefined, availableShare: undefined }
  expect(freeSpaceOf([unknown], 5)).toEqual([])
})

it('guesses no cause from other errors', () => {
  for (const text of [
    'no space left on device',
    'write /data/x: ENOSPC',
    'Disk is full',
    'not enough disk space',
  ])
    expect(isAboutSpace(text), text).toBe(true)
  for (const text of [undefined, '', 'connection reset', 'signature is invalid'])
    expect(isAboutSpace(text), text).toBe(false)
})
