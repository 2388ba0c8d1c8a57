import type { ActionOutput } from '@muster/actions/client'
import { expect, it } from 'vitest'
import { lastProblem } from './last-problem.ts'

type Change = ActionOutput<'devices_QueryPropertyHistory'>['changes'][number]

const at = (hour: number) => `2026-06-08T${String(hour).padStart(2, '0')}:00:00.000Z`
const change = (hour: number, value: object): Change =>
  ({ version: hour, value, isRemoved: false, actor: { actor: 'System' }, changedAt: at(hour) }) as Change

it('names the problem that ended last', () => {
  const failed = { state: 'failed', targetVersion: '2.23.0', failureCount: 3 }
  const updates = [change(9, { state: 'completed' }), change(8, failed), change(7, failed)]
  const health = [change(6, { status: 'healthy' }), change(4, { status: 'degraded' }), change(3, {})]
  const connections = [{ connectedAt: at(3) }, { connectedAt: at(0), endedAt: at(1) }]
  expect(lastProblem(updates, health, connections)).toMatchObject({
    words: 'update to 2.23.0 failed 3 times',
    beganAt: at(7),
    endedAt: at(9),
  })
  expect(lastProblem([], health, connections)).toMatchObject({ words: 'health degraded for 2 h 0 min' })
  expect(lastProblem([], [], connections)).toEqual({
    words: 'offline for 2 h 0 min',
    beganAt: at(1),
    endedAt: at(3),
  })
})

it('returns undefined for a history without problems, with a present problem or without records', () => {
  expect(lastProblem([], [], [])).toBeUndefined()
  expect(lastProblem([change(8, { state: 'failed' })], [], [{ connectedAt: at(3) }])).toBeUndefined()
})
