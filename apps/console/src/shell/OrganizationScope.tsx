import { Outlet } from '@tanstack/react-router'
import { useCurrentOrganization } from '../organization.ts'
import { TitleScope } from '../ui/Title.tsx'

/** Layout of an organization's pages, which adds its name to their document titles. */
export function OrganizationScope() {
  return (
    <TitleScope name={useCurrentOrganization()?.name}>
      <Outlet />
    </TitleScope>
  )
}
