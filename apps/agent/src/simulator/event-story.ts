import type { DeviceProfile } from './device-profile.ts'
import { type Random, randomOf } from './seeded-random.ts'
import { healthAt } from './story.ts'

/** An event in the form of `devices_PublishEvents` (docs/protocol.md 4.6). */
export type SimulatedEvent = {
  eventId: string
  category?: string
  severity: 'Trace' | 'Debug' | 'Info' | 'Warning' | 'Error' | 'Critical'
  body: unknown
  attributes: Record<string, unknown>
  emittedAt: string
}

type Template = Pick<SimulatedEvent, 'severity' | 'category'> & {
  /** Relative frequency of this event on a healthy and on an unhealthy device. */
  weights: readonly [healthy: number, sick: number]
  compose: (
    random: Random,
    profile: DeviceProfile,
  ) => Pick<SimulatedEvent, 'body'> & Partial<Pick<SimulatedEvent, 'attributes'>>
}

const tenths = (random: Random, min: number, max: number) => random.integer(min * 10, max * 10) / 10

const TEMPLATES: readonly Template[] = [
  {
    severity: 'Info',
    category: 'app',
    weights: [40, 20],
    compose: random => ({
      body: {
        message: 'Measurements sent',
        readings: random.integer(20, 400),
        tookMs: random.integer(40, 900),
      },
    }),
  },
  {
    severity: 'Info',
    category: 'app',
    weights: [12, 6],
    compose: random => ({
      body: `Session ended after ${random.integer(4, 190)} min`,
      attributes: { energyKwh: tenths(random, 1, 60), socket: random.integer(1, 2) },
    }),
  },
  {
    severity: 'Debug',
    category: 'system',
    weights: [14, 10],
    compose: random => ({
      body: {
        cpuPercent: random.integer(2, 60),
        memoryPercent: random.integer(20, 80),
        temperatureCelsius: tenths(random, 32, 68),
      },
    }),
  },
  {
    severity: 'Trace',
    category: 'app',
    weights: [4, 2],
    compose: random => ({ body: `cache flushed, ${random.integer(3, 900)} entries` }),
  },
  {
    severity: 'Info',
    category: 'network',
    weights: [6, 6],
    compose: (random, { hardware }) => ({
      body: 'DHCP lease renewed',
      attributes: { interface: random.pick(hardware.networks) },
    }),
  },
  { severity: 'Info', category: 'ota', weights: [4, 2], compose: () => ({ body: 'checking for updates' }) },
  {
    severity: 'Info',
    weights: [2, 1],
    compose: random => ({ body: `clock corrected by ${random.integer(2, 90)} ms` }),
  },
  {
    severity: 'Info',
    category: 'security',
    weights: [2, 1],
    compose: (random, { site }) => ({
      body: 'Maintenance door closed',
      attributes: { site, badge: `B-${random.integer(100, 999)}` },
    }),
  },
  {
    severity: 'Warning',
    category: 'network',
    weights: [5, 14],
    compose: random => ({
      body: { message: 'Weak signal', rssiDbm: -random.integer(98, 113) },
      attributes: { carrier: random.pick(['Telekom', 'Orange', 'Tele2', 'Swisscom']) },
    }),
  },
  {
    severity: 'Warning',
    category: 'system',
    weights: [3, 16],
    compose: (_random, { hardware, index }) => ({
      // The value is fixed per device: a disk does not fill and empty within minutes.
      body: `${hardware.disks[0]!.mountPoint} is ${85 + (index % 12)} % full`,
      attributes: { device: hardware.disks[0]!.name },
    }),
  },
  {
    severity: 'Warning',
    category: 'power',
    weights: [2, 6],
    compose: random => ({ body: { message: 'Supply voltage low', volts: tenths(random, 10, 11) } }),
  },
  {
    severity: 'Error',
    category: 'app',
    weights: [1.2, 12],
    compose: random => ({
      body: {
        message: 'Meter does not answer',
        attempts: random.integer(3, 9),
        error: 'timeout after 2000 ms',
      },
      attributes: { bus: '/dev/ttyUSB0', address: random.integer(1, 12) },
    }),
  },
  {
    severity: 'Error',
    category: 'system',
    weights: [0.6, 6],
    compose: random => ({
      body: `${random.pick(['metering', 'telemetry', 'ui'])}.service: main process exited, code=exited, status=${random.pick([1, 101, 137])}`,
    }),
  },
  {
    severity: 'Critical',
    category: 'power',
    weights: [0.05, 1.5],
    compose: random => ({
      body: { message: 'Temperature limit reached, output switched off', celsius: random.integer(85, 97) },
    }),
  },
]

/** Events of a device from `fromMs` (inclusive) to `toMs` (exclusive), oldest first, on average one per `intervalMs`. */
export function eventsBetween(
  profile: DeviceProfile,
  intervalMs: number,
  fromMs: number,
  toMs: number,
): SimulatedEvent[] {
  const events: SimulatedEvent[] = []
  const last = Math.floor(toMs / intervalMs)
  for (let slot = Math.floor(fromMs / intervalMs); slot <= last; slot++) {
    const { atMs, random } = slotOf(profile, intervalMs, slot)
    if (atMs >= fromMs && atMs < toMs) events.push(eventAt(profile, atMs, random))
  }
  return events
}

/** Time of the first event at or after `fromMs`. */
export function nextEventAt(profile: DeviceProfile, intervalMs: number, fromMs: number): number {
  for (let slot = Math.floor(fromMs / intervalMs); ; slot++) {
    const { atMs } = slotOf(profile, intervalMs, slot)
    if (atMs >= fromMs) return atMs
  }
}

/** Time of the one event in the interval number `slot`, counted from 1970, and the random numbers for the event's content. */
function slotOf(
  { seed, index }: DeviceProfile,
  intervalMs: number,
  slot: number,
): { atMs: number; random: Random } {
  const random = randomOf(seed, index, 'event', intervalMs, slot)
  return { atMs: Math.floor((slot + random.next()) * intervalMs), random }
}

function eventAt(profile: DeviceProfile, atMs: number, random: Random): SimulatedEvent {
  const isSick = healthAt(profile, atMs) !== 'healthy'
  const template = random.weighted(TEMPLATES.map(each => [each, each.weights[isSick ? 1 : 0]] as const))
  const emittedAt = new Date(atMs).toISOString()
  const { body, attributes = {} } = template.compose(random, profile)
  return {
    eventId: eventIdOf(emittedAt, random),
    ...(template.category !== undefined && { category: template.category }),
    severity: template.severity,
    body,
    attributes,
    emittedAt,
  }
}

/**
 * Derives the id from the event's time and random numbers, so that an event sent twice has the same id and is stored once
 * (docs/protocol.md 4.6, 6.2).
 */
function eventIdOf(emittedAt: string, random: Random): string {
  return `d_ev_${emittedAt.slice(0, 10).replaceAll('-', '')}-${emittedAt.slice(11, 16).replace(':', '')}-${random.base58(8)}`
}
