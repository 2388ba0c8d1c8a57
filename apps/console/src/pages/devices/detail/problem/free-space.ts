import { LOW_SHARE } from '../../../../ui/lazy/UsedBar.tsx'
import type { Disk } from '../well-known.ts'

/** Maximum number of disks that the sentence about free space names. */
const MOST_NAMED = 3

/** Free space of a disk for a sentence. `place` is the mount point, or the name of a disk without one. */
export type FreeSpace = { place: string; freeBytes: number; freePercent: number }

/** Whether a device's error says that a disk is full. Other errors get no sentence about disks, which would be a guess. */
export function isAboutSpace(error: string | undefined): boolean {
  return (
    error !== undefined &&
    /no space|not enough (disk )?space|insufficient space|disk (is )?full|enospc/i.test(error)
  )
}

/**
 * Disks that explain an error about space, the fullest first. These are disks with little free space, and disks that are large enough for a
 * file of `neededBytes` but have less free space than the file needs.
 */
export function freeSpaceOf(disks: readonly Disk[], neededBytes: number | undefined): FreeSpace[] {
  return disks
    .flatMap(({ name, mountPoint, totalBytes, availableBytes, availableShare }) => {
      if (totalBytes === undefined || availableBytes === undefined || availableShare === undefined) return []
      const isTooSmall =
        neededBytes !== undefined && totalBytes >= neededBytes && availableBytes < neededBytes
      if (availableShare >= LOW_SHARE && !isTooSmall) return []
      const freePercent = Math.floor(availableShare * 100)
      return [{ place: mountPoint ?? name, freeBytes: availableBytes, freePercent }]
    })
    .sort((a, b) => a.freePercent - b.freePercent)
    .slice(0, MOST_NAMED)
}
