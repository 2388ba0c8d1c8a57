import { expect, it } from 'vitest'
import { Schedule } from './schedule.ts'

/** A schedule whose timer is fired by the test. */
function manual() {
  let now = 0
  const timers: { atMs: number; callback: () => void }[] = []
  let armed = 0
  const schedule = new Schedule({
    now: () => now,
    after(ms, callback) {
      armed++
      const timer = { atMs: now + ms, callback }
      timers.push(timer)
      return () => timers.splice(timers.indexOf(timer), 1)
    },
  })
  return {
    schedule,
    timers,
    armed: () => armed,
    advance(toMs: number) {
      now = toMs
      for (const timer of timers.filter(each => each.atMs <= now)) {
        timers.splice(timers.indexOf(timer), 1)
        timer.callback()
      }
    },
  }
}

it('calls back in order of time, with one timer for all', () => {
  const { schedule, advance, timers } = manual()
  const called: number[] = []
  const times = Array.from({ length: 500 }, (_, at) => ((at * 7919) % 500) * 10)
  for (const time of times) schedule.at(time, () => called.push(time))
  expect(timers).toHaveLength(1)
  for (let now = 0; now <= 6000; now += 100) advance(now)
  expect(called).toEqual(times.toSorted((a, b) => a - b))
  expect(timers).toHaveLength(0)
})

it('runs no cancelled and no cleared callbacks', () => {
  const { schedule, advance, timers } = manual()
  const called: string[] = []
  const cancel = schedule.at(100, () => called.push('cancelled'))
  schedule.at(100, () => called.push('kept'))
  cancel()
  advance(150)
  expect(called).toEqual(['kept'])
  schedule.at(200, () => called.push('cleared'))
  schedule.clear()
  expect(timers).toHaveLength(0)
  advance(1000)
  expect(called).toEqual(['kept'])
})

it('moves its timer only for earlier callbacks', () => {
  const { schedule, timers, armed } = manual()
  schedule.at(10_000, () => {})
  schedule.at(20_000, () => {})
  expect(armed()).toBe(1)
  schedule.at(5000, () => {})
  expect(timers.map(timer => timer.atMs)).toEqual([5000])
})

it('accepts new callbacks while it calls back', () => {
  const { schedule, advance } = manual()
  const called: number[] = []
  schedule.at(100, () => {
    called.push(1)
    schedule.at(50, () => called.push(2))
    schedule.at(300, () => called.push(3))
  })
  advance(100)
  expect(called).toEqual([1, 2])
  advance(300)
  expect(called).toEqual([1, 2, 3])
})
