import { expect, it } from 'vitest'
import { Backoff } from './backoff.ts'

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
