import { Outlet } from '@tanstack/react-router'
import { LayoutDashboard, ListChecks, ScrollText, Server, Users } from 'lucide-react'
import { SideLayout } from '../../shell/SideLayout.tsx'

/** Sidebar and content of the administration; whether one may see it is the hub's answer to each page (decisions). */
export function AdminLayout() {
  return (
    <SideLayout name="Administration" label="Administration" links={LINKS}>
      <Outlet />
    </SideLayout>
  )
}

const LINKS = [
  { to: '/admin/dashboard', icon: LayoutDashboard, label: 'Dashboard' },
  { to: '/admin/users', icon: Users, label: 'Users' },
  { to: '/admin/log', icon: ScrollText, label: 'Event Log' },
  { to: '/admin/actions', icon: ListChecks, label: 'Actions Log' },
  { to: '/admin/cluster', icon: Server, label: 'Cluster' },
]
