import { formatBytes } from '../../../../lib/app/format.ts'
import type { Problem } from '../problems.ts'
import { type FreeSpace, freeSpaceOf, isAboutSpace } from './free-space.ts'
import { useBundleBytes, useDisks } from './use-update-facts.ts'

type NeededSpaceProps = { deviceId: string; update: Pick<NonNullable<Problem['update']>, 'error'> }

/**
 * Sentence about an update that failed because the disk was full: "The bundle needs 318.4 MiB and /data has 41.2 MiB free." Leaves out a
 * figure that the hub or the device has not reported.
 */
export function NeededSpace({ deviceId, update: { error } }: NeededSpaceProps) {
  return isAboutSpace(error) && <Space deviceId={deviceId} />
}

function Space({ deviceId }: { deviceId: string }) {
  const neededBytes = useBundleBytes(deviceId)
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
