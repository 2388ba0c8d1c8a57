import { formatBytes } from '../../../../lib/app/format.ts'
import type { Problem } from '../problems.ts'
import { type FreeSpace, freeSpaceOf, isAboutSpace } from './free-space.ts'
import { useBundleBytes, useDisks } from './use-update-facts.ts'

type NeededSpaceProps = { deviceId: string; update: NonNullable<Problem['update']> }

/**
 * Sentence about an update that failed because the disk was full: "The bundle needs 318.4 MiB and /data has 41.2 MiB free." Leaves out a
 * figure that the hub or the device has not reported.
 */
export function NeededSpace({ deviceId, update: { error, targetVersion } }: NeededSpaceProps) {
  return isAboutSpace(error) && <Space deviceId={deviceId} targetVersion={targetVersion} />
}

function Space({ deviceId, targetVersion }: { deviceId: string; targetVersion: string | undefined }) {
  const neededBytes = useBundleBytes(deviceId, targetVersion)
  const [first, ...others] = freeSpaceOf(useDisks(deviceId), neededBytes)
  const needs = neededBytes === undefined ? '' : `The bundle needs ${formatBytes(neededBytes)}`
  if (!first) return needs && ` ${needs}.`
  return (
    <>
      {' '}
      {needs && `${needs} and `}
      <Free {...first} />.
      {others.map(disk => (
        <span key={disk.place}>
          {' '}
          <Free {...disk} />.
        </span>
      ))}
    </>
  )
}

function Free({ place, freeBytes }: FreeSpace) {
  return (
    <>
      <span className="mono">{place}</span> has {formatBytes(freeBytes)} free
    </>
  )
}
