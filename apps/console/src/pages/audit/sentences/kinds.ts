import {
  Blocks,
  Building2,
  CircleUser,
  Cpu,
  Gauge,
  HardDrive,
  KeyRound,
  LogIn,
  Package,
  Pencil,
  Server,
  ShieldCheck,
  Users,
  Workflow,
} from 'lucide-react'
import type { IconType } from '../../../ui/icon.ts'

/** Kinds of subjects for the filter of a log, in the order in which the filter offers them. */
export const KINDS = {
  device: { label: 'Devices', icon: Cpu },
  certificate: { label: 'Certificates', icon: ShieldCheck },
  property: { label: 'Properties', icon: Pencil },
  token: { label: 'Tokens', icon: KeyRound },
  member: { label: 'Members', icon: Users },
  repository: { label: 'Repositories', icon: Package },
  project: { label: 'Projects', icon: Blocks },
  organization: { label: 'Organizations', icon: Building2 },
  signIn: { label: 'Sign-ins', icon: LogIn },
  account: { label: 'Accounts', icon: CircleUser },
  job: { label: 'Jobs', icon: Workflow },
  node: { label: 'Nodes', icon: Server },
  limit: { label: 'Limits', icon: Gauge },
  instance: { label: 'Instance', icon: HardDrive },
} as const satisfies Record<string, { label: string; icon: IconType }>

export type Kind = keyof typeof KINDS
