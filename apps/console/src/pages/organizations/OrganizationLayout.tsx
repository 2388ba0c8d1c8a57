import { getRouteApi, Outlet } from '@tanstack/react-router'
import { Settings, TextAlignStart, Users } from 'lucide-react'
import { organizationIdOf } from '../../organization.ts'
import { SideLayout } from '../../shell/app/SideLayout.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/settings')

/** Sidebar and content of an organization's settings; the top bar names the organization. */
export function OrganizationLayout() {
  const { organization } = route.useParams()
  return (
    <SideLayout
      name="Settings"
      id={{ id: organizationIdOf({ organization }), what: 'organization id' }}
      label="Organization settings"
      links={[
        { to: `/org_${organization}/settings/members`, icon: Users, label: 'Members' },
        { to: `/org_${organization}/settings/log`, icon: TextAlignStart, label: 'Audit Log' },
        { to: `/org_${organization}/settings/general`, icon: Settings, label: 'General' },
      ]}
    >
      <Outlet />
    </SideLayout>
  )
}
