import { expect, it } from 'vitest'
import { systemClock } from './clock.ts'
import { ManualClock } from './testing/manual-clock.ts'
import { Wheel, type WheelEntry, wheelOf } from './wheel.ts'

function entry(onDeadline: () => void): WheelEntry {
  return { wheelTick: 0, wheelNext: undefined, wheelPrevious: undefined, onDeadline }
}

it('calls each entry once at its deadline, even many rotations of the wheel later', () => {
  const clock = new ManualClock(0)
  const wheel = new Wheel(clock)
  const fired: string[] = []
  for (const ms of [100, 150, 5000, 51_200, 51_300, 200_000]) {
    wheel.schedule(
      entry(() => fired.push(`${ms}@${clock.now()}`)),
      ms,
    )
  }
  clock.advance(300_000)
  expect(fired).toEqual(['100@100', '150@200', '5000@5000', '51200@51200', '51300@51300', '200000@200000'])
})

it('moves and cancels deadlines', () => {
  const clock = new ManualClock(0)
  const wheel = new Wheel(clock)
  const fired: string[] = []
  const moved = entry(() => fired.push(`moved@${clock.now()}`))
  const first = entry(() => fired.push('first'))
  const middle = entry(() => fired.push('middle'))
  const last = entry(() => fired.push('last'))
  wheel.schedule(moved, 200)
  wheel.schedule(moved, 900)
  for (const each of [first, middle, last]) wheel.schedule(each, 300)
  wheel.cancel(middle)
  wheel.cancel(middle)
  wheel.cancel(last)
  expect(wheel.size).toBe(2)
  clock.advance(1000)
  expect(fired).toEqual(['first', 'moved@900'])
})

it('lets entries cancel and schedule each other while they are called', () => {
  const clock = new ManualClock(0)
  const wheel = new Wheel(clock)
  const fired: string[] = []
  const victim = entry(() => fired.push('victim'))
  const again = entry(() => {
    fired.push(`again@${clock.now()}`)
    if (fired.length < 4) wheel.schedule(again, 51_200)
  })
  const next = entry(() => fired.push('next'))
  const killer = entry(() => {
    fired.push('killer')
    wheel.cancel(victim)
    wheel.cancel(next)
  })
  wheel.schedule(victim, 100)
  wheel.schedule(again, 100)
  wheel.schedule(next, 100)
  wheel.schedule(killer, 100)
  clock.advance(200_000)
  expect(fired).toEqual(['killer', 'again@100', 'again@51300', 'again@102500'])
})

it('uses one interval of the clock, and none while no entry is scheduled', () => {
  const clock = new ManualClock(0)
  const wheel = new Wheel(clock)
  expect(clock.intervalCount).toBe(0)
  for (let i = 0; i < 1000; i++)
    wheel.schedule(
      entry(() => {}),
      1 + i,
    )
  expect(clock.intervalCount).toBe(1)
  clock.advance(2000)
  expect(clock.intervalCount).toBe(0)
  let fired = false
  wheel.schedule(
    entry(() => {
      fired = true
    }),
    100,
  )
  clock.advance(100)
  expect(fired).toBe(true)
})

it('does not count the time in which the process was blocked', () => {
  const clock = new ManualClock(0)
  const wheel = new Wheel(clock)
  let firedAt = 0
  wheel.schedule(
    entry(() => {
      firedAt = clock.now()
    }),
    5000,
  )
  clock.jump(60_000)
  expect(firedAt).toBe(0)
  clock.advance(3800)
  expect(firedAt).toBe(0)
  clock.advance(300)
  expect(firedAt).toBeGreaterThan(60_000)
})

it('is shared by all users of a clock', () => {
  const clock = new ManualClock(0)
  expect(wheelOf(clock)).toBe(wheelOf(clock))
  expect(wheelOf(clock)).not.toBe(wheelOf(systemClock))
})

it('works with the system clock, which counts from the epoch and does not keep the process alive', async () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(2000)
  const { promise, resolve } = Promise.withResolvers<void>()
  wheelOf(systemClock).schedule(entry(resolve), 1)
  await promise
  const calls = await new Promise(done => {
    let count = 0
    const stop = systemClock.every(1, () => {
      count++
      stop()
      done(count)
    })
  })
  expect(calls).toBe(1)
})

it('I1: fires no deadline early after a blocked event loop', () => {
  const clock = new ManualClock()
  const wheel = new Wheel(clock)
  const fired: string[] = []
  const firing = (name: string) => entry(() => fired.push(name))
  wheel.schedule(firing('long'), 60_000)
  for (const stallMs of [50, 350, 1_000, 5_000]) {
    clock.stall(stallMs)
    wheel.schedule(firing(`after ${stallMs}`), 300)
    clock.jump(0)
    clock.advance(290)
    expect(fired).toEqual([])
    clock.advance(110)
    expect(fired.splice(0)).toEqual([`after ${stallMs}`])
  }
})
