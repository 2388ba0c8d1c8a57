import { findAction } from '@muster/actions'
import { RawJson } from '@muster/actions/exact-json'
import { expect, it } from 'vitest'
import { outputText } from './output-text.ts'

const contract = findAction('devices_QueryPropertyHistory')!.action.output
const changes = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    version: at + 1,
    value: new RawJson(`1.5${'0'.repeat(at % 3)}`),
    isRemoved: false,
    actor: { actor: 'System' },
    changedAt: '2026-11-29T00:00:00.000Z',
    notInTheContract: true,
  }))

it.each([0, 1, 250, 251, 1_000])('S25: writes a list of %i elements as the contract says', async count => {
  const text = await outputText(contract, { changes: changes(count), nextCursor: 'next "page"' })
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

it('S25: lets other work go on after every 250 elements of a long list', async () => {
  let turns = 0
  let isDone = false
  const turn = () => {
    turns++
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  await outputText(contract, { changes: changes(5_000) })
  isDone = true
  expect(turns).toBeGreaterThanOrEqual(5_000 / 250 - 1)
})

it('S25: refuses an element behind the first portion that breaks the contract', async () => {
  const wrong = [...changes(300), { version: 'x' }]
  await expect(outputText(contract, { changes: wrong })).rejects.toThrow('version')
})
