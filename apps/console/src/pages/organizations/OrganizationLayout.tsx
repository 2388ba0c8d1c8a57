import { getRouteApi, Outlet } from '@tanstack/react-router'
import { Settings, TextAlignStart, Users, Webhook } from 'lucide-react'
import { organizationIdOf, useOrganizations } from '../../organization.ts'
import { SideLayout } from '../../shell/app/SideLayout.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/settings')

/** Sidebar and content of an organization's settings; the top bar names the organization. */
export function OrganizationLayout() {
  const { organization } = route.useParams()
  const organizationId = organizationIdOf({ organization })
  // Only administrators may see webhooks.
  const isAdmin = useOrganizations()?.find(one => one.organizationId === organizationId)?.isAdmin ?? false
  const webhooks = { to: `/org_${organization}/settings/webhooks`, icon: Webhook, label: 'Webhooks' }
  return (
    <SideLayout
      name="Settings"
      id={{ id: organizationId, what: 'organization id' }}
      label="Organization settings"
      links={[
        { to: `/org_${organization}/settings/members`, icon: Users, label: 'Members' },
        ...(isAdmin ? [webhooks] : []),
        { to: `/org_${organization}/settings/log`, icon: TextAlignStart, label: 'Audit Log' },
        { to: `/org_${organization}/settings/general`, icon: Settings, label: 'General' },
      ]}
    >
      <Outlet />
    </SideLayout>
  )
}
