import type { ActionInput } from '@muster/actions/client'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>

/** Healths of connected devices, as filters beside a preset. */
export const HEALTHS = ['healthy', 'warning', 'error'] as const
/** Presets of the device list, in the order of their buttons. */
export const PRESETS = ['updateFailed', 'offlineLong', 'neverUpdated', 'pending'] as const

/** Health of a device, as a filter beside a preset. */
export type Health = (typeof HEALTHS)[number]
/** Value of the search parameter `show`: a preset, or in links a health. */
export type Attention = Health | (typeof PRESETS)[number]

/** Label of each filter in the console. */
export const ATTENTION_LABELS: Record<Attention, string> = {
  healthy: 'Healthy',
  warning: 'Warning',
  error: 'Error',
  updateFailed: 'Update failed',
  offlineLong: 'Offline for more than 24 h',
  neverUpdated: 'Never updated',
  pending: 'Pending',
}

/** Part of the hub's filter for a health or a preset. */
export function filterOfAttention(value: Attention): Pick<Filter, 'health' | 'preset'> {
  return isHealth(value) ? { health: value } : { preset: value }
}

/** Whether the value of the search parameter `show` is a health. */
export function isHealth(value: Attention | undefined): value is Health {
  return HEALTHS.includes(value as Health)
}
