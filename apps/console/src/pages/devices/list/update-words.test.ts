import { expect, it } from 'vitest'
import { updateWords } from './update-words.ts'

it.each([
  [{}, 'Never', 'plain'],
  [{ currentVersion: '2.0' }, '–', 'plain'],
  [{ currentVersion: '2.0', updateState: 'completed' }, 'Completed', 'plain'],
  [{ updateState: 'completed', updateFailureCount: 2 }, 'Completed', 'plain'],
  [{ updateState: 'failed' }, 'Failed once', 'bad'],
  [{ updateState: 'installing', updateFailureCount: 6 }, 'Failed 6 times', 'bad'],
  [{ updateState: 'failed', updateFailureCount: 4_000_000 }, 'Failed 4,000,000 times', 'bad'],
  [{ updateState: 'installing', updateTargetVersion: '2.23.0' }, 'Installing 2.23.0', 'busy'],
  [{ updateState: 'rebooting' }, 'Rebooting', 'busy'],
  [{ updateState: 'rebooting', updateTargetVersion: '3' }, 'Rebooting into 3', 'busy'],
  [{ updateState: 'idle' }, 'Idle', 'plain'],
  [{ updateState: 'rollback' }, 'Rollback', 'plain'],
  [{ updateState: 'toString' }, 'toString', 'plain'],
])('C32: says of the update %j: %s (%s)', (update, text, tone) => {
  expect(updateWords(update)).toEqual({ text, tone })
})
