import { Link, useParams } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'
import { useActionState } from '../../api/queries.ts'
import { counted, formatCount } from '../../lib/app/format.ts'
import { buttonClass } from '../../ui/Button.tsx'

/** Maximum length, in characters, of a version that the hub stores for filters. */
const LONGEST_VERSION = 200

type SameErrorProps = {
  deviceId: string
  /** Version that the device tries to install. The text below the link counts the devices that try it. */
  targetVersion?: string | undefined
}

/**
 * Counts the devices of the project whose update failed with the same error as the update of this device. `updateError` is the error as
 * the filter of the device list needs it. `trying` is the number of devices that try `targetVersion`. `undefined` if no other device has
 * the error.
 */
function useSameError({ deviceId, targetVersion }: SameErrorProps) {
  const { projectId = '' } = useParams({ strict: false })
  const device = useActionState('projects_QueryDevices', {
    projectId,
    filter: { deviceIds: [deviceId] },
    limit: 1,
    countTotal: false,
  }).data?.devices[0]
  const updateError = device?.updateError
  const isCountable = targetVersion !== undefined && targetVersion.length <= LONGEST_VERSION
  const counts = useActionState(
    'projects_QueryDeviceCounts',
    {
      projectId,
      filters: [{ updateError: updateError ?? '-' }, ...(isCountable ? [{ targetVersion }] : [])],
    },
    { enabled: updateError !== undefined },
  ).data?.counts
  const [count, trying] = counts ?? []
  if (!updateError || !count || count < 2) return undefined
  return { updateError, count, trying }
}

/** Next step with a link to the devices of the project whose update failed with the same error, if there are others. */
export function SameError({ deviceId, targetVersion }: SameErrorProps) {
  const same = useSameError({ deviceId, targetVersion })
  if (!same) return null
  const { updateError, count, trying } = same
  return (
    <li>
      <Link
        to="/org_{$organization}/projects/$projectId/devices"
        from="/org_{$organization}/projects/$projectId"
        search={{ error: updateError }}
      >
        {formatCount(count)} devices fail with this error
        <ArrowRight className="i i-14" aria-hidden />
      </Link>
      <p>
        {trying && trying >= count ? (
          <>
            Of {formatCount(trying)} that try <bdi>{targetVersion}</bdi>. Open the list, filtered.
          </>
        ) : (
          'Open the list, filtered.'
        )}
      </p>
    </li>
  )
}

/** Link to the devices of the project whose update failed with the same error, if there are others. */
export function SameErrorLink({ deviceId }: { deviceId: string }) {
  const same = useSameError({ deviceId })
  if (!same) return null
  return (
    <Link
      className={buttonClass('ghost', 'sm')}
      to="/org_{$organization}/projects/$projectId/devices"
      from="/org_{$organization}/projects/$projectId"
      search={{ error: same.updateError }}
    >
      Same error on {counted(same.count - 1, 'other device')}
    </Link>
  )
}
