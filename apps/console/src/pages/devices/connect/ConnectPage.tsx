import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Page, PageHead } from '../../../ui/app/Page.tsx'
import { Breadcrumb } from '../../../ui/lazy/Breadcrumb.tsx'
import { ConnectGuide } from './ConnectGuide.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/devices/connect')

/** Connects a further device to a project. */
export function ConnectPage() {
  const params = route.useParams()
  const navigate = useNavigate()
  const devices = { to: '/org_{$organization}/projects/$projectId/devices', params } as const
  return (
    <Page width="list">
      <Breadcrumb
        links={[
          <Link key="devices" {...devices}>
            Devices
          </Link>,
        ]}
        here="Connect a device"
      />
      <PageHead title="Connect a device" />
      <ConnectGuide
        key={params.projectId}
        projectId={params.projectId}
        title="What to connect"
        onDone={() => void navigate(devices)}
      />
    </Page>
  )
}
