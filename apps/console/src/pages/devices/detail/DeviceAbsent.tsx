import { useParams } from '@tanstack/react-router'
import { LinkButton } from '../../../ui/LinkButton.tsx'
import { Absent } from '../../../ui/NotFound.tsx'

/** Page of a device that does not exist. It was probably deleted, so the page leads to the list, and to the log that says by whom. */
export function DeviceAbsent({ reason }: { reason: unknown }) {
  const params = useParams({ from: '/authenticated/org_{$organization}/projects/$projectId' })
  return (
    <Absent reason={reason}>
      <LinkButton to="/org_{$organization}/projects/$projectId/devices" params={params} variant="primary">
        Back to Devices
      </LinkButton>
      <LinkButton to="/org_{$organization}/projects/$projectId/log" params={params}>
        Audit Log
      </LinkButton>
    </Absent>
  )
}
