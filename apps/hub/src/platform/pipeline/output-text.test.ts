import { findAction } from '@muster/actions'
import { RawJson } from '@muster/actions/exact-json'
import { expect, it } from 'vitest'
import type { InPortions } from '../limits/database-shares.ts'
import { Turns } from '../limits/turns.ts'
import { outputText } from './output-text.ts'

const contract = findAction('devices_QueryPropertyHistory')!.action.output
const turns = new Turns(10_000)
const inPortions: InPortions = (items, map) => turns.map('a person', items, map)
const changes = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    version: at + 1,
    value: new RawJson(`1.5${'0'.repeat(at % 3)}`),
    isRemoved: false,
    actor: { actor: 'System' },
    changedAt: '2026-11-29T00:00:00.000Z',
    notInTheContract: true,
  }))

it.each([0, 1, 50, 51, 1_000])('S25: writes a list of %i elements as the contract says', async count => {
  const text = await outputText(contract, { changes: changes(count), nextCursor: 'next "page"' }, inPortions)
  expect(JSON.parse(text)).toEqual({
    changes: JSON.parse(
      JSON.stringify(
        changes(count).map(({ notInTheContract: _, value, ...change }) => ({
          ...change,
          value: value.parse(),
        })),
      ),
    ),
    nextCursor: 'next "page"',
  })
  expect(text.match(/"value":1\.500[,}]/g)?.length ?? 0).toBe(Math.floor(count / 3))
})

it('S25: lets other work go on after every 50 elements of a long list', async () => {
  let count = 0
  let isDone = false
  const turn = () => {
    count++
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  await outputText(contract, { changes: changes(5_000) }, inPortions)
  isDone = true
  expect(count).toBeGreaterThanOrEqual(5_000 / 50 - 1)
})

it('S25: refuses an element behind the first portion that breaks the contract', async () => {
  const wrong = [...changes(300), { version: 'x' }]
  await expect(outputText(contract, { changes: wrong }, inPortions)).rejects.toThrow('version')
})

it('S25: converts long lists in turns of their callers, one portion in a turn of the event loop', async () => {
  const done: string[] = []
  let turn = 0
  const turnsOf: number[] = []
  const count = () => {
    turn++
    if (done.length < 12) setImmediate(count)
  }
  setImmediate(count)
  const write = (owner: string, length: number) =>
    turns.map(owner, Array.from({ length }), portion => {
      done.push(owner)
      turnsOf.push(turn)
      return portion
    })
  await Promise.all([write('one', 200), write('one', 200), write('other', 100), write('third', 100)])
  // The second list of one caller does not come before the first of others.
  expect(done.indexOf('other')).toBeLessThan(3)
  expect(done.slice(0, 6).filter(owner => owner === 'other')).toHaveLength(2)
  expect(done.slice(0, 6).filter(owner => owner === 'third')).toHaveLength(2)
  expect(new Set(turnsOf).size).toBe(turnsOf.length)
})
