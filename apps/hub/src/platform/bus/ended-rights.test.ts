import { until } from '@muster/testkit/until'
import { expect, it } from 'vitest'
import { EndedRights } from './ended-rights.ts'
import type { EndedRight } from './messages.ts'

/** Rights on a bus that delivers what the test sends. */
function rightsOnBus() {
  let deliver: (right: EndedRight) => void = () => {}
  const rights = new EndedRights({
    publish() {},
    subscribe(_subject, handler) {
      deliver = handler as typeof deliver
      return () => {}
    },
  })
  return { rights, deliver: (right: EndedRight) => deliver(right) }
}

it('checks a permission at most once in 200 ms, however often a message comes, and ends a connection once', async () => {
  const { rights, deliver } = rightsOnBus()
  let checks = 0
  let ends = 0
  let isAllowed = true
  const stop = rights.watchPerson(
    'u_1',
    async () => {
      checks++
      return isAllowed
    },
    () => {
      ends++
      stop()
    },
  )
  const startedAtMs = performance.now()
  for (let count = 0; count < 1_000; count++) deliver({ userId: 'u_1' })
  for (let count = 0; count < 1_000; count++) deliver({ userId: 'u_2' })
  expect(checks).toBe(1)
  await until('the repeated messages cause one further check', () => checks === 2)
  expect(performance.now() - startedAtMs).toBeGreaterThan(190)
  expect(ends).toBe(0)
  isAllowed = false
  for (let count = 0; count < 1_000; count++) deliver({ userId: 'u_1' })
  await until('the connection ends', () => ends > 0)
  for (let count = 0; count < 1_000; count++) deliver({ userId: 'u_1' })
  expect([checks, ends]).toEqual([3, 1])
})

it('checks a permission once for all watchers with the same key, and ends those that are left', async () => {
  const { rights, deliver } = rightsOnBus()
  let checks = 0
  const ended: string[] = []
  const watch = (name: string, key: string) =>
    rights.watchPerson(
      'u_1',
      async () => ++checks < 0,
      () => ended.push(name),
      { key },
    )
  const stops = ['first', 'second', 'third'].map(name => watch(name, 'key'))
  const stopOther = watch('other', 'other key')
  stops[0]!()
  deliver({ userId: 'u_1' })
  expect(checks).toBe(2)
  await until('the others have ended', () => ended.length === 3)
  expect(ended).toEqual(['second', 'third', 'other'])
  for (const stop of [...stops, stopOther]) stop()
  deliver({ userId: 'u_1' })
  expect(checks).toBe(2)
})

it('checks a permission at once if a right has ended since it was looked up', async () => {
  const { rights, deliver } = rightsOnBus()
  const since = rights.reportCount
  deliver({ userId: 'u_1' })
  const ended = Promise.withResolvers<void>()
  const stop = rights.watchPerson('u_1', async () => false, ended.resolve, { since })
  await ended.promise
  stop()
  let checks = 0
  const watch = (options: { since?: number }) =>
    rights.watchPerson(
      'u_1',
      async () => ++checks > 0,
      () => {},
      options,
    )
  for (const unwatch of [watch({ since: rights.reportCount }), watch({})]) unwatch()
  expect(checks).toBe(0)
})
