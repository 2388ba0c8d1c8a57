import { formatCount } from '../../../lib/app/format.ts'

/** Relation of devices to a version. Each relation has its own shape of tick. */
export type TickState = 'runs' | 'installs' | 'fails' | 'others' | 'unknown'

/**
 * Number of devices per tick, so that `devices` fit into `max` ticks. One tick for each of `parts` parts is reserved, because small parts
 * are rounded up. The number is 1 for few devices, else it may be a fraction such as 2.7.
 */
export function devicesPerTick(devices: number, parts: number, max: number): number {
  return Math.max(1, devices / Math.max(1, max - parts))
}

/** Number of ticks in one segment of a bar: `devices` divided by `perTick`, but at least one if the segment has any device. */
export function ticksOf(devices: number, perTick: number): number {
  return devices === 0 ? 0 : Math.max(1, Math.round(devices / perTick))
}

/** Legend of the ticks: "One tick is 1 device", "One tick is about 1.4 devices", "One tick is about 4 devices". */
export function tickText(perTick: number): string {
  return perTick === 1
    ? 'One tick is 1 device'
    : `One tick is about ${formatCount(perTick < 2 ? Math.round(perTick * 10) / 10 : Math.round(perTick))} devices`
}
