import {
  Blocks,
  Clock,
  Cpu,
  KeyRound,
  Layers,
  LayoutDashboard,
  ListChecks,
  Mail,
  MonitorSmartphone,
  Package,
  ScrollText,
  Server,
  Settings,
  ShieldAlert,
  ShieldCheck,
  TextAlignStart,
  UserRound,
  Users,
} from 'lucide-react'
import type { IconType } from '../../ui/icon.ts'

/** A page in navigation menus. */
export type PageLink = {
  to: string
  icon: IconType
  label: string
  /** Text of the page's `CreateButton`, and of the option in the search dialog that does the same. */
  create?: string
}

/** Links of the top bar with their shortcuts. */
export function organizationPages(organizationId: string): (PageLink & { keys: string })[] {
  return [
    {
      to: `/${organizationId}/projects`,
      icon: Blocks,
      label: 'Projects',
      create: 'Create Project',
      keys: 'g p',
    },
    {
      to: `/${organizationId}/repositories/`,
      icon: Package,
      label: 'Repositories',
      create: 'New Repository',
      keys: 'g r',
    },
    {
      to: `/${organizationId}/settings`,
      icon: Settings,
      label: 'Settings',
      create: 'Invite User',
      keys: 'g s',
    },
  ]
}

/** The pages of a project; `base` is the project's path. */
export function projectPages(base: string): PageLink[] {
  return [
    { to: `${base}/devices`, icon: Cpu, label: 'Devices', create: 'Connect a device' },
    { to: `${base}/software`, icon: Layers, label: 'Software' },
    { to: `${base}/tokens`, icon: KeyRound, label: 'Tokens', create: 'New Token' },
    { to: `${base}/log`, icon: TextAlignStart, label: 'Audit Log' },
    { to: `${base}/repositories`, icon: Package, label: 'Repositories' },
    { to: `${base}/settings`, icon: Settings, label: 'Settings' },
  ]
}

/** The page with a project's pending certificates. Only the search dialog lists it, not the navigation. `base` is the project's path. */
export function pendingPage(base: string): PageLink {
  return { to: `${base}/devices/pending`, icon: ShieldAlert, label: 'Pending certificates' }
}

/** Pages of the user's own settings. */
export const ACCOUNT_PAGES: PageLink[] = [
  { to: '/settings/profile', icon: UserRound, label: 'Profile' },
  { to: '/settings/security', icon: ShieldCheck, label: 'Security', create: 'New Token' },
  { to: '/settings/sessions', icon: MonitorSmartphone, label: 'Sessions' },
]

export const INVITATIONS_PAGE: PageLink = { to: '/user/invitations', icon: Mail, label: 'Invitations' }

/** Pages of the administration. */
export const ADMIN_PAGES: PageLink[] = [
  { to: '/admin/dashboard', icon: LayoutDashboard, label: 'Dashboard' },
  { to: '/admin/users', icon: Users, label: 'Users', create: 'New User' },
  { to: '/admin/log', icon: ScrollText, label: 'Event Log' },
  { to: '/admin/actions', icon: ListChecks, label: 'Actions Log' },
  { to: '/admin/cluster', icon: Server, label: 'Cluster' },
]

/** Pages of the administration that have no link in the navigation (docs/specification.md 2, docs/product.md 2). */
export const UNLINKED_ADMIN_PAGES: PageLink[] = [
  { to: '/admin/projects', icon: Blocks, label: 'Projects of all organizations' },
  { to: '/admin/jobs', icon: Clock, label: 'Jobs' },
]
