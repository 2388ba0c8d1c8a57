import { Outlet } from '@tanstack/react-router'
import { ACCOUNT_PAGES } from '../../shell/pages.ts'
import { SideLayout } from '../../shell/SideLayout.tsx'

/** Sidebar and content of one's own settings. */
export function AccountLayout() {
  return (
    <SideLayout name="Settings" label="Settings" links={ACCOUNT_PAGES}>
      <Outlet />
    </SideLayout>
  )
}
