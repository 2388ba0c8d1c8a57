import { expect, it } from 'vitest'
import { type BulkAction, progressWords, resultTitle, subjectWords } from './bulk-words.ts'

const action = (values: Partial<BulkAction>): BulkAction => ({
  bulkActionId: 'bulk_a' as BulkAction['bulkActionId'],
  kind: 'Accept',
  status: 'Completed',
  userId: 'u_a' as BulkAction['userId'],
  createdAt: '2026-11-23T13:41:07.000Z' as BulkAction['createdAt'],
  itemCount: 20,
  succeededCount: 18,
  skippedCount: 2,
  failedCount: 0,
  connectedCount: 16,
  tokenCount: 1,
  addressCount: 1,
  ...values,
})

it.each([
  [action({}), '18 accepted, 2 refused'],
  [action({ kind: 'constructor' as never }), '18 done, 2 refused'],
  [action({ kind: 'Reject', succeededCount: 1204, skippedCount: 0 }), '1,204 rejected'],
  [action({ kind: 'Delete', succeededCount: 0, skippedCount: 1, failedCount: 1 }), '0 deleted, 2 refused'],
])('names the result of a bulk action: %#', (one, words) => {
  expect(resultTitle(one)).toBe(words)
})

it('names the progress and the subject of a bulk action', () => {
  const running = action({
    itemCount: 1204,
    succeededCount: 637,
    skippedCount: 3,
    tokenCount: 3,
    addressCount: 2,
  })
  expect(progressWords(running)).toBe('Accepting, 640 of 1,204, 3 refused')
  expect(subjectWords(running)).toBe('1,204 certificates of 3 tokens and 2 addresses')
  expect(subjectWords(action({}))).toBe('20 certificates of one token and one address')
  expect(subjectWords(action({ kind: 'Delete', itemCount: 1 }))).toBe('1 device')
})
