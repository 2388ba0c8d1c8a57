import { expect, it } from 'vitest'
import type { Entry } from './entry.ts'
import { daysOf } from './folding.ts'

it('C31: folds at least four like acts of one actor within 60 s into one line', () => {
  const rename = (second: number, userId = 'u_1'): Entry =>
    ({
      entryId: `audit ${second} ${userId}`,
      type: 'audit',
      kind: 'person',
      event: 'devices_NameChanged',
      actor: { actor: 'User', userId },
      data: { name: `crane-${second}` },
      at: new Date(Date.parse('2026-11-23T12:00:00Z') - second * 1000).toISOString(),
      severity: 'Info',
    }) as unknown as Entry
  const linesOf = (entries: Entry[]) =>
    daysOf(entries, () => 'Monday').flatMap(({ lines }) =>
      lines.map(line => (line.type === 'entry' ? 1 : line.entries.length)),
    )
  expect(linesOf([0, 1, 2, 59, 60].map(second => rename(second)))).toEqual([4, 1])
  expect(linesOf([0, 1, 2].map(second => rename(second)))).toEqual([1, 1, 1])
  expect(linesOf([0, 1, 2, 3].map(second => rename(second, `u_${second}`)))).toEqual([1, 1, 1, 1])
})
