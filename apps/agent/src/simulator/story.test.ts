import { PropertyName } from '@muster/actions'
import { describe, expect, it } from 'vitest'
import { deviceProfile } from './device-profile.ts'
import { appConfigOf, labelOf, otaStatusOf, PROPERTY, systemInfoOf } from './device-properties.ts'
import { eventsBetween, nextEventAt } from './event-story.ts'
import { randomOf } from './seeded-random.ts'
import { healthAt, nextHealthCheck, nextOutage, updateSteps } from './story.ts'

const FLEET = Array.from({ length: 500 }, (_, index) => deviceProfile('test', index))
const NOW = Date.parse('2026-03-01T12:00:00Z')
const HOUR_MS = 60 * 60 * 1000

describe('randomOf', () => {
  it('gives the same numbers for the same key and spreads them', () => {
    const [one, same, other] = [randomOf('a', 1), randomOf('a', 1), randomOf('a', 2)]
    const numbers = Array.from({ length: 2000 }, () => one.next())
    expect(numbers).toEqual(Array.from({ length: 2000 }, () => same.next()))
    expect(numbers[0]).not.toBe(other.next())
    expect(numbers.reduce((sum, value) => sum + value, 0) / 2000).toBeCloseTo(0.5, 1)
    expect(numbers.every(value => value >= 0 && value < 1)).toBe(true)
  })

  it('gives unrelated numbers for similar keys', () => {
    const firsts = Array.from({ length: 1000 }, (_, index) => randomOf('seed', index, 'x').next())
    expect(new Set(firsts).size).toBe(1000)
    expect(firsts.filter(value => value < 0.1).length).toBeGreaterThan(60)
    expect(firsts.filter(value => value < 0.1).length).toBeLessThan(140)
  })
})

describe('a fleet', () => {
  it('is the same for the same seed', () => {
    expect(Array.from({ length: 500 }, (_, index) => deviceProfile('test', index))).toEqual(FLEET)
    expect(deviceProfile('other', 0)).not.toEqual(FLEET[0])
  })

  it('has unique names, addresses and serial numbers, and several kinds of hardware', () => {
    expect(new Set(FLEET.map(device => device.hostname)).size).toBe(500)
    expect(new Set(FLEET.flatMap(device => device.macAddresses)).size).toBeGreaterThan(500)
    expect(new Set(FLEET.map(device => device.serial)).size).toBe(500)
    expect(new Set(FLEET.map(device => device.hardware.role)).size).toBe(4)
    expect(FLEET[0]!.hostname).toMatch(/^sim-[a-z]+-[a-z]+-0001$/)
  })

  it('publishes plausible values', () => {
    for (const device of FLEET.slice(0, 50)) {
      const info = systemInfoOf(device, NOW)
      for (const disk of info.disks) expect(disk.availableSpace).toBeLessThan(disk.totalSpace)
      for (const network of info.networks)
        expect(network.ipAddresses[0]).toMatch(/^10\.\d{1,2}\.\d{1,3}\.\d{1,3}\/24$/)
      expect(otaStatusOf(device, undefined).currentVersion).toBe(device.firmware)
      expect(labelOf(device, undefined).firmware).toBe(device.firmware)
      expect(appConfigOf(device)).toEqual(appConfigOf(device))
    }
    for (const name of Object.values(PROPERTY)) expect(PropertyName.safeParse(name).success).toBe(true)
  })
})

describe('events', () => {
  it('do not depend on the requested time ranges', () => {
    const device = FLEET[3]!
    const all = eventsBetween(device, 60_000, NOW, NOW + 2 * HOUR_MS)
    const pieces = [0, 7, 55, 119.5].flatMap((from, at, starts) =>
      eventsBetween(device, 60_000, NOW + from * 60_000, NOW + (starts[at + 1] ?? 120) * 60_000),
    )
    expect(pieces).toEqual(all)
    expect(all.length).toBeGreaterThanOrEqual(119)
    expect(all.length).toBeLessThanOrEqual(121)
  })

  it('have unique ids that contain their time', () => {
    const events = eventsBetween(FLEET[0]!, 1000, NOW, NOW + HOUR_MS)
    expect(new Set(events.map(event => event.eventId)).size).toBe(events.length)
    expect(events[0]!.eventId).toMatch(/^d_ev_20260301-1200-[1-9A-HJ-NP-Za-km-z]{8}$/)
    expect(events.map(event => event.emittedAt)).toEqual(events.map(event => event.emittedAt).toSorted())
  })

  it('are mostly harmless, of every severity and of several categories', () => {
    const events = FLEET.flatMap(device => eventsBetween(device, 60_000, NOW, NOW + HOUR_MS))
    const share = (severity: string) =>
      events.filter(event => event.severity === severity).length / events.length
    expect(share('Info')).toBeGreaterThan(0.5)
    for (const severity of ['Trace', 'Debug', 'Warning', 'Error', 'Critical'])
      expect(share(severity)).toBeGreaterThan(0)
    expect(share('Critical')).toBeLessThan(0.01)
    expect(new Set(events.map(event => event.category)).size).toBeGreaterThanOrEqual(6)
  })

  it('come at the predicted time', () => {
    const device = FLEET[9]!
    const at = nextEventAt(device, 60_000, NOW)
    expect(eventsBetween(device, 60_000, NOW, at)).toEqual([])
    expect(eventsBetween(device, 60_000, NOW, at + 1)).toHaveLength(1)
  })
})

describe('outages', () => {
  it('lie in the future, last seconds to minutes, and are the same again', () => {
    for (const device of FLEET) {
      const outage = nextOutage(device, NOW)
      if (!outage) continue
      expect(outage.startMs).toBeGreaterThan(NOW)
      expect(outage.endMs - outage.startMs).toBeGreaterThanOrEqual(5000)
      expect(outage.endMs - outage.startMs).toBeLessThanOrEqual(240_000)
      expect(nextOutage(device, NOW)).toEqual(outage)
    }
  })

  it('are rare for most devices', () => {
    const soon = FLEET.filter(
      device => (nextOutage(device, NOW)?.startMs ?? Number.POSITIVE_INFINITY) < NOW + HOUR_MS,
    )
    expect(soon.length).toBeGreaterThan(10)
    expect(soon.length).toBeLessThan(150)
  })
})

describe('health and updates', () => {
  it('leave most devices healthy, and change only at the start of a window', () => {
    const states = FLEET.map(device => healthAt(device, NOW))
    expect(states.filter(state => state === 'healthy').length).toBeGreaterThan(450)
    expect(states.filter(state => state !== 'healthy').length).toBeGreaterThan(2)
    expect(nextHealthCheck(NOW)).toBe(NOW + 10 * 60_000)
    expect(healthAt(FLEET[0]!, NOW)).toBe(healthAt(FLEET[0]!, NOW + 9 * 60_000))
  })

  it('update some devices, step by step, to the newest version', () => {
    const updates = FLEET.map(updateSteps).filter(steps => steps.length > 0)
    expect(updates.length).toBeGreaterThan(20)
    for (const steps of updates) {
      const offsets = steps.map(step => step.offsetMs)
      expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
      expect(['completed', 'failed']).toContain(steps.at(-1)!.state)
    }
    expect(
      updates.some(steps => steps.at(-1)!.state === 'failed' && steps.at(-1)!.lastError !== undefined),
    ).toBe(true)
  })
})
