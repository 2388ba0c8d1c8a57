import { Link, useParams } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'
import { useActionState } from '../../api/queries.ts'
import { formatCount } from '../../lib/app/format.ts'

/** Next step with a link to the devices of the project whose update failed with the same error, if there are others. */
export function SameError({ deviceId }: { deviceId: string }) {
  const { projectId = '' } = useParams({ strict: false })
  const device = useActionState('projects_QueryDevices', {
    projectId,
    filter: { deviceIds: [deviceId] },
    limit: 1,
    countTotal: false,
  }).data?.devices[0]
  const updateError = device?.updateError
  const count = useActionState(
    'projects_QueryDeviceCounts',
    { projectId, filters: [{ updateError: updateError ?? '-' }] },
    { enabled: updateError !== undefined },
  ).data?.counts[0]
  if (!updateError || !count || count < 2) return null
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
      <p>Open the list, filtered.</p>
    </li>
  )
}
