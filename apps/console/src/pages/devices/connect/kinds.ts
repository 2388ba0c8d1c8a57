import { Activity, Cpu, Laptop, Package } from 'lucide-react'

/** Kinds of devices that the guide can connect. Each kind is a tab. */
export const KINDS = [
  { kind: 'here', icon: Laptop, title: 'This machine', text: 'Try it here in a minute' },
  { kind: 'linux', icon: Cpu, title: 'A Linux device', text: 'One command, systemd' },
  { kind: 'public', icon: Package, title: 'Public Nexigon agent', text: 'A setting in its file' },
  { kind: 'simulated', icon: Activity, title: 'Simulated', text: '1 to 10,000 devices' },
] as const

/** A kind of device to connect. */
export type Kind = (typeof KINDS)[number]['kind']
