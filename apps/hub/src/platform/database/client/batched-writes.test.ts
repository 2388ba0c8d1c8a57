import { Batcher } from '@muster/concurrency'
import { expect, it } from 'vitest'
import { BATCHED_WRITES } from './batched-writes.ts'

it.each(['57P01', '57014', '53100', '53300', '55P03', '25006', '40P01', 'ECONNREFUSED'])(
  'retries a batch that fails with %s as a whole, then rejects it as a whole',
  async code => {
    let attempts = 0
    const batcher = new Batcher<number>({
      ...BATCHED_WRITES,
      parallel: 1,
      maxBatch: 100,
      maxWaiting: 1_000,
      weigh: () => 1,
      retryForMs: 120,
      write: async items => {
        attempts++
        expect(items).toHaveLength(3)
        throw Object.assign(new Error('not now'), { code })
      },
    })
    const results = await Promise.allSettled([batcher.add(1), batcher.add(2), batcher.add(3)])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(attempts).toBeGreaterThan(1)
  },
)

it('does not retry a value that the database refuses', () => {
  expect(BATCHED_WRITES.isRetryable(Object.assign(new Error('refused'), { code: '22P02' }))).toBe(false)
})

it('refuses an item with 503 when the queue is full', async () => {
  const batcher = new Batcher<number>({
    ...BATCHED_WRITES,
    parallel: 1,
    maxBatch: 1,
    maxWaiting: 0,
    weigh: () => 1,
    retryForMs: 0,
    write: async () => {},
  })
  await expect(batcher.add(1)).rejects.toMatchObject({ kind: 'Internal', status: 503 })
})
