import type { ActionInput } from '@muster/actions/client'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>

/** Filters by health, and presets for devices that need attention, by the value of the search parameter `show`. */
export const ATTENTION = {
  healthy: { health: 'healthy' },
  warning: { health: 'warning' },
  error: { health: 'error' },
  updateFailed: { preset: 'updateFailed' },
  offlineLong: { preset: 'offlineLong' },
  neverUpdated: { preset: 'neverUpdated' },
  pending: { preset: 'pending' },
} as const satisfies Record<string, Filter>

/** Name of a filter of `ATTENTION`. */
export type Attention = keyof typeof ATTENTION

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

/** Health of a device, as a filter beside a preset. */
export type Health = 'healthy' | 'warning' | 'error'

/** Splits a filter of `ATTENTION` into the search parameters `health` and `show`, because both filters may apply together. */
export function partsOfAttention(value: unknown): { health?: Health; show?: Attention } {
  const known = attentionOf(value)
  if (known === undefined) return {}
  return 'health' in ATTENTION[known] ? { health: known as Health } : { show: known }
}

/** The value if it is the name of a filter of `ATTENTION`, else `undefined`. */
export function attentionOf(value: unknown): Attention | undefined {
  return typeof value === 'string' && Object.hasOwn(ATTENTION, value) ? (value as Attention) : undefined
}
