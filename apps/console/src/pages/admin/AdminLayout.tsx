import { Outlet } from '@tanstack/react-router'
import { ADMIN_PAGES } from '../../shell/app/pages.ts'
import { SideLayout } from '../../shell/app/SideLayout.tsx'

/** Sidebar and content of the administration. The hub decides per request whether the user may see it (docs/decisions.md). */
export function AdminLayout() {
  return (
    <SideLayout name="Administration" label="Administration" links={ADMIN_PAGES}>
      <Outlet />
    </SideLayout>
  )
}
