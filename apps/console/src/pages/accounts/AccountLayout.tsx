import { Outlet } from '@tanstack/react-router'
import { ACCOUNT_PAGES } from '../../shell/app/pages.ts'
import { SideLayout } from '../../shell/app/SideLayout.tsx'

/** Sidebar and content of the user's own settings. */
export function AccountLayout() {
  return (
    <SideLayout name="Settings" label="Settings" links={ACCOUNT_PAGES}>
      <Outlet />
    </SideLayout>
  )
}
