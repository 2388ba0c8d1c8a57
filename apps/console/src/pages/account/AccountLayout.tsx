import { Outlet } from '@tanstack/react-router'
import { MonitorSmartphone, ShieldCheck, UserRound } from 'lucide-react'
import { SideLayout } from '../../shell/SideLayout.tsx'

/** Sidebar and content of one's own settings. */
export function AccountLayout() {
  return (
    <SideLayout name="Settings" label="Settings" links={LINKS}>
      <Outlet />
    </SideLayout>
  )
}

const LINKS = [
  { to: '/settings/profile', icon: UserRound, label: 'Profile' },
  { to: '/settings/security', icon: ShieldCheck, label: 'Security' },
  { to: '/settings/sessions', icon: MonitorSmartphone, label: 'Sessions' },
]
