import pino from 'pino'
import { expect, it } from 'vitest'
import { LastUses } from './last-uses.ts'

it('writes uses again after a failed write, the newest use of each key', async () => {
  const written: { key: string; address: string }[][] = []
  let failures = 1
  await using uses = new LastUses<{ address: string }>({
    what: 'uses',
    log: pino({ enabled: false }),
    restMs: 10,
    write: async batch => {
      if (failures-- > 0) {
        uses.add('b', { address: 'new' })
        throw new Error('the database is gone')
      }
      written.push(batch.map(({ key, address }) => ({ key, address })))
    },
  })
  uses.add('a', { address: 'first' })
  uses.add('b', { address: 'old' })
  await expect
    .poll(() => written)
    .toEqual([
      [
        { key: 'a', address: 'first' },
        { key: 'b', address: 'new' },
      ],
    ])
})
