import { setTimeout } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { systemClock } from './clock.ts'

afterEach(() => void vi.useRealTimers())

it('runs while a test has replaced the global timers', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let count = 0
  const stop = systemClock.every(1, () => count++)
  for (let turn = 0; turn < 1_000 && count === 0; turn++) await setTimeout(5)
  stop()
  expect(count).toBeGreaterThan(0)
})
