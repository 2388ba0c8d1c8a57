import { Link, useParams } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'
import { useActionState } from '../../api/queries.ts'
import { counted, formatCount } from '../../lib/app/format.ts'
import { CountAge } from '../../ui/app/CountAge.tsx'
import { buttonClass } from '../../ui/Button.tsx'

/** Maximum length, in characters, of a version that the hub stores for filters. */
const LONGEST_VERSION = 200

type SameErrorProps = {
  deviceId: string
  /** Version that the device tries to install. The devices that try it and fail with the same error are counted. */
  targetVersion?: string | undefined
}

type SameErrors = {
  /** The error as the filter of the device list needs it. */
  updateError: string
  /** Devices whose update to any version failed with the error. */
  anyCount: number
  /** Devices whose update to `targetVersion` failed with the error, and devices that try this version. */
  count: number | undefined
  trying: number | undefined
  /** Time of the counts, in milliseconds since 1970. */
  countedAtMs: number
}

/** Counts the devices of the project whose update failed with the same error as the update of this device. `undefined` if none did. */
function useSameError({ deviceId, targetVersion }: SameErrorProps): SameErrors | undefined {
  const { projectId = '' } = useParams({ strict: false })
  const updateError = useActionState('devices_GetDetails', { deviceId }).data?.updateError
  const isCountable = targetVersion !== undefined && targetVersion.length <= LONGEST_VERSION
  const { data, dataUpdatedAt } = useActionState(
    'projects_QueryDeviceCounts',
    {
      projectId,
      filters: [
        { updateError: updateError ?? '-' },
        ...(isCountable ? [{ updateFailure: { targetVersion, error: updateError } }, { targetVersion }] : []),
      ],
    },
    { enabled: updateError !== undefined },
  )
  const [anyCount, count, trying] = data?.counts ?? []
  if (!updateError || !anyCount) return undefined
  return {
    updateError,
    anyCount,
    count: count ?? undefined,
    trying: trying ?? undefined,
    countedAtMs: dataUpdatedAt,
  }
}

const PROJECT = '/org_{$organization}/projects/$projectId'
const DEVICES = '/org_{$organization}/projects/$projectId/devices'

/**
 * Next step with a link to the devices of the project whose update to the same version failed with the same error, if there are others.
 * The devices that fail with it on any version are linked beside it, or alone if only this device tries the version.
 */
export function SameError({ deviceId, targetVersion }: SameErrorProps) {
  const same = useSameError({ deviceId, targetVersion })
  if (!same || same.anyCount < 2) return null
  const { updateError, anyCount, count, trying, countedAtMs } = same
  const isOfTarget = count !== undefined && count > 1
  const hasMore = isOfTarget && anyCount > count
  return (
    <li>
      <Link
        to={DEVICES}
        from={PROJECT}
        search={{ error: updateError, ...(isOfTarget && { target: `=${targetVersion}` }) }}
      >
        {formatCount(isOfTarget ? count : anyCount)} devices fail with this error
        <ArrowRight className="icon small-icon" aria-hidden />
      </Link>
      <p className="help">
        {isOfTarget ? (
          <>
            {trying !== undefined && trying >= count && `Of ${formatCount(trying)} that try `}
            {(trying === undefined || trying < count) && 'All try '}
            <bdi>{targetVersion}</bdi>.{' '}
            {hasMore && (
              <>
                <Link to={DEVICES} from={PROJECT} search={{ error: updateError }}>
                  {counted(anyCount, 'device')}
                </Link>{' '}
                on any version.{' '}
              </>
            )}
          </>
        ) : (
          'On any version. '
        )}
        <CountAge atMs={countedAtMs} />
      </p>
    </li>
  )
}

/** Link to the devices of the project whose update failed with the same error, whichever version they try, if there are others. */
export function SameErrorLink({ deviceId }: { deviceId: string }) {
  const same = useSameError({ deviceId })
  if (!same || same.anyCount < 2) return null
  return (
    <Link
      className={buttonClass('ghost', 'sm')}
      to={DEVICES}
      from={PROJECT}
      search={{ error: same.updateError }}
    >
      {counted(same.anyCount, 'device')} with this error
    </Link>
  )
}
