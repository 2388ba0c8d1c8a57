import { expect, it, vi } from 'vitest'
import { Admission } from './admission.ts'

it('lets as many in at once as it may and the others in their order', async () => {
  const admission = new Admission({ maxRunning: 2, maxWaiting: 10, maxWaitMs: 1_000 })
  const order: number[] = []
  const entered = [1, 2, 3, 4].map(async number => {
    expect(await admission.enter(0)).toBe(true)
    order.push(number)
  })
  await Promise.all(entered.slice(0, 2))
  expect(order).toEqual([1, 2])
  admission.leave(0)
  await entered[2]
  expect(order).toEqual([1, 2, 3])
  admission.leave(0)
  await entered[3]
  admission.leave(0)
  admission.leave(0)
  expect(await admission.enter(0)).toBe(true)
})

it('turns away at once whoever finds the queue full', async () => {
  const admission = new Admission({ maxRunning: 1, maxWaiting: 1, maxWaitMs: 1_000 })
  expect(await admission.enter(0)).toBe(true)
  const waiting = admission.enter(0)
  expect(await admission.enter(0)).toBe(false)
  admission.leave(0)
  expect(await waiting).toBe(true)
})

it('turns away whoever waited too long and passes the place on to the next', async () => {
  const admission = new Admission({ maxRunning: 1, maxWaiting: 10, maxWaitMs: 1_000 })
  await admission.enter(0)
  const tooLong = admission.enter(0)
  const inTime = admission.enter(500)
  admission.leave(1_200)
  expect(await tooLong).toBe(false)
  expect(await inTime).toBe(true)
})

it('loses no place when everybody who waited was turned away', async () => {
  const admission = new Admission({ maxRunning: 1, maxWaiting: 10, maxWaitMs: 1_000 })
  await admission.enter(0)
  const waiting = [admission.enter(0), admission.enter(0)]
  admission.leave(5_000)
  expect(await Promise.all(waiting)).toEqual([false, false])
  expect(await admission.enter(5_000)).toBe(true)
})

it('does not take a clock that is set for time that passes', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const admission = new Admission({ maxRunning: 1, maxWaiting: 10, maxWaitMs: 1_000 })
  await admission.enter()
  const waiting = admission.enter()
  vi.setSystemTime(Date.now() + 3_600_000)
  admission.leave()
  vi.useRealTimers()
  expect(await waiting).toBe(true)
})
