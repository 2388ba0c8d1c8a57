import { describe, expect, it } from 'vitest'
import { Backoff } from './backoff.ts'
import { seededRandom } from './testing/fuzz.ts'

it('doubles the ceiling up to the cap', () => {
  const backoff = new Backoff({ random: () => 0.999999 })
  const delays = Array.from({ length: 9 }, () => backoff.nextDelayMs())
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000])
})

it('spreads the delays over the whole range below the ceiling', () => {
  const values = [0, 0.5, 0.25]
  const backoff = new Backoff({ random: () => values.shift() ?? 0 })
  expect([backoff.nextDelayMs(), backoff.nextDelayMs(), backoff.nextDelayMs()]).toEqual([0, 1000, 1000])
})

it('resets only after a connection that lasted', () => {
  const backoff = new Backoff({ random: () => 0.5 })
  for (let attempt = 0; attempt < 5; attempt++) backoff.nextDelayMs()
  backoff.endedAfter(59_999)
  expect(backoff.nextDelayMs()).toBe(16_000)
  backoff.endedAfter(60_000)
  expect(backoff.nextDelayMs()).toBe(500)
})

it('waits at least for Retry-After, and spreads the delays after it', () => {
  const backoff = new Backoff({ random: () => 0.5 })
  expect(backoff.nextDelayMs(20_000)).toBe(20_500)
  expect(backoff.nextDelayMs(10 ** 12)).toBe(3_601_000)
})

it('stays at the cap after any number of failures', () => {
  const backoff = new Backoff({ random: () => 0.5 })
  for (let attempt = 0; attempt < 3000; attempt++) backoff.nextDelayMs()
  expect(backoff.nextDelayMs()).toBe(30_000)
})

describe('with the bound that the hub named', () => {
  it('stays below it until the delays have added up to a minute, and goes on as without it', () => {
    const backoff = new Backoff({ random: () => 0.999999 })
    backoff.returnWithin(3000)
    const delays = Array.from({ length: 24 }, () => backoff.nextDelayMs())
    expect(delays.slice(0, 3)).toEqual([1000, 2000, 3000])
    expect(new Set(delays.slice(2, 21))).toEqual(new Set([3000]))
    expect(delays.slice(21)).toEqual([60_000, 60_000, 60_000])
  })

  it('goes on as without it once the hub has refused the device', () => {
    const backoff = new Backoff({ random: () => 0.999999 })
    backoff.returnWithin(1000)
    expect([backoff.nextDelayMs(), backoff.nextDelayMs()]).toEqual([1000, 1000])
    backoff.refused()
    expect([backoff.nextDelayMs(), backoff.nextDelayMs()]).toEqual([4000, 8000])
  })

  // Without the bound the last of 1,000 devices returns 15 s, 29 s and 58 s after the crashes.
  it('brings 1,000 devices back within 3 s of each of four crashes, each with a hub that is away for 1.5 s', () => {
    const random = seededRandom(40)
    const fleet = Array.from({ length: 1000 }, () => new Backoff({ random: () => random(1e6) / 1e6 }))
    for (let crash = 0; crash < 4; crash++) {
      // The hub names 2 ms for each of its devices.
      for (const backoff of fleet) backoff.returnWithin(2000)
      for (const backoff of fleet) {
        let atMs = 0
        while (atMs < 1500) atMs += backoff.nextDelayMs()
        backoff.endedAfter(1000)
        expect(atMs).toBeLessThan(1500 + 3000)
      }
    }
  })
})
