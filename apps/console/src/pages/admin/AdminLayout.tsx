import { Outlet } from '@tanstack/react-router'
import { ADMIN_PAGES } from '../../shell/pages.ts'
import { SideLayout } from '../../shell/SideLayout.tsx'

/** Sidebar and content of the administration; whether one may see it is the hub's answer to each page (decisions). */
export function AdminLayout() {
  return (
    <SideLayout name="Administration" label="Administration" links={ADMIN_PAGES}>
      <Outlet />
    </SideLayout>
  )
}
