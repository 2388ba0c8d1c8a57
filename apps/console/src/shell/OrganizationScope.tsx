import { Outlet } from '@tanstack/react-router'
import { useCurrentOrganization } from '../organization.ts'
import { TitleScope } from '../ui/Title.tsx'

/** Layout of an organization's pages. It adds the organization's name to the document titles of the pages. */
export function OrganizationScope() {
  return (
    <TitleScope name={useCurrentOrganization()?.name}>
      <Outlet />
    </TitleScope>
  )
}
