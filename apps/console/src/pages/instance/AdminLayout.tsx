import { Outlet } from '@tanstack/react-router'
import { ADMIN_PAGES } from '../../shell/app/pages.ts'
import { SideLayout } from '../../shell/app/SideLayout.tsx'

/**
 * Layout of the administration pages: sidebar and content. The console checks no role here, because the hub authorizes
 * each request (docs/decisions.md).
 */
export function AdminLayout() {
  return (
    <SideLayout name="Administration" label="Administration" links={ADMIN_PAGES}>
      <Outlet />
    </SideLayout>
  )
}
