import { setTimeout as passing } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { Batcher, type BatcherOptions } from './batcher.ts'

type Options = Partial<BatcherOptions<number>> & { write: (items: number[]) => Promise<void> }

function batcher(options: Options): Batcher<number> {
  return new Batcher({
    weigh: () => 1,
    maxBatch: 100,
    maxWaiting: 1_000,
    parallel: 1,
    retryForMs: 1_000,
    isRetryable,
    overloaded,
    ...options,
  })
}

const isRetryable = (error: unknown): boolean => (error as { code?: string }).code === 'gone'
const overloaded = (): Error => new Error('too much waits')

/** Makes a promise that the test settles. */
function deferred() {
  return Promise.withResolvers<void>()
}

const gone = (): Error => Object.assign(new Error('gone'), { code: 'gone' })
const refused = (): Error => Object.assign(new Error('refused'), { code: 'refused' })

describe('items added while a batch is in flight', () => {
  it('are written together in the next batch, in order', async () => {
    const first = deferred()
    const batches: number[][] = []
    const all = batcher({
      write: async items => {
        batches.push(items)
        if (batches.length === 1) await first.promise
      },
    })
    const added = [all.add(0)]
    await expect.poll(() => batches.length).toBe(1)
    for (let item = 1; item <= 50; item++) added.push(all.add(item))
    first.resolve()
    await Promise.all(added)
    expect(batches).toEqual([[0], Array.from({ length: 50 }, (_, index) => index + 1)])
  })

  it('are answered after their own batch and not before', async () => {
    const deferreds = [deferred(), deferred()]
    let batch = 0
    const all = batcher({ write: () => deferreds[batch++]!.promise })
    const settled: string[] = []
    const first = all.add(1).then(() => settled.push('first'))
    await expect.poll(() => batch).toBe(1)
    const second = all.add(2).then(() => settled.push('second'))
    deferreds[0]!.resolve()
    await first
    await expect.poll(() => batch).toBe(2)
    await passing(0)
    expect(settled).toEqual(['first'])
    deferreds[1]!.resolve()
    await second
  })

  it('are rejected beyond maxWaiting, and the accepted items are written', async () => {
    const first = deferred()
    let batches = 0
    const all = batcher({
      maxWaiting: 10,
      weigh: item => item,
      write: () => {
        batches++
        return first.promise
      },
    })
    const added = [all.add(1)]
    await expect.poll(() => batches).toBe(1)
    added.push(all.add(6), all.add(4))
    await expect(all.add(1)).rejects.toThrow('too much waits')
    first.resolve()
    await Promise.all(added)
    await all.add(10)
  })

  it('are rejected beyond the limit of their owner, except for the first item of an owner', async () => {
    const first = deferred()
    let batches = 0
    const all = batcher({
      weigh: item => item,
      ownerOf: item => (item % 2 === 0 ? 'even' : 'odd'),
      maxWaitingPerOwner: 10,
      write: () => {
        batches++
        return first.promise
      },
    })
    const added = [all.add(1)]
    await expect.poll(() => batches).toBe(1)
    added.push(all.add(12))
    await expect(all.add(2)).rejects.toThrow('too much waits')
    added.push(all.add(3), all.add(7))
    await expect(all.add(5)).rejects.toThrow('too much waits')
    first.resolve()
    await Promise.all(added)
    await Promise.all([all.add(2), all.add(8)])
  })
})

describe('a batch', () => {
  it('stays within maxBatch, except for a single heavier item', async () => {
    const first = deferred()
    const batches: number[][] = []
    const all = batcher({
      maxBatch: 10,
      weigh: item => item,
      write: async items => {
        batches.push(items)
        if (batches.length === 1) await first.promise
      },
    })
    const added = [all.add(1)]
    await expect.poll(() => batches.length).toBe(1)
    for (const item of [5, 5, 1, 50, 9, 2]) added.push(all.add(item))
    first.resolve()
    await Promise.all(added)
    expect(batches).toEqual([[1], [5, 5], [1], [50], [9], [2]])
  })

  it('has room for every owner while one owner sends much', async () => {
    const first = deferred()
    const batches: string[][] = []
    const all = new Batcher<string>({
      weigh: item => Number(item.slice(2)),
      ownerOf: item => item[0]!,
      maxBatch: 100,
      maxWaiting: 10_000,
      parallel: 1,
      retryForMs: 1_000,
      isRetryable,
      overloaded,
      write: async items => {
        batches.push(items)
        if (batches.length === 1) await first.promise
      },
    })
    const added = [all.add('a 1')]
    await expect.poll(() => batches.length).toBe(1)
    for (const item of ['a 90', 'a 80', 'a 5', 'a 70', 'b 2', 'c 4', 'c 9', 'd 60', 'b 3'])
      added.push(all.add(item))
    first.resolve()
    await Promise.all(added)
    expect(batches.slice(1)).toEqual([
      ['a 90', 'b 2', 'c 4', 'b 3'],
      ['a 80', 'c 9', 'a 5'],
      ['a 70'],
      ['d 60'],
    ])
  })

  it('is filled to maxBatch when all items have one owner', async () => {
    const first = deferred()
    const batches: number[][] = []
    const all = batcher({
      maxBatch: 10,
      ownerOf: () => 'one',
      write: async items => {
        batches.push(items)
        if (batches.length === 1) await first.promise
      },
    })
    const added = [all.add(0)]
    await expect.poll(() => batches.length).toBe(1)
    for (let item = 1; item <= 25; item++) added.push(all.add(item))
    first.resolve()
    await Promise.all(added)
    expect(batches.map(({ length }) => length)).toEqual([1, 10, 10, 5])
    expect(batches.flat()).toEqual(Array.from({ length: 26 }, (_, item) => item))
  })

  it('runs in parallel with others up to the limit', async () => {
    const open = deferred()
    let running = 0
    let most = 0
    const all = batcher({
      parallel: 3,
      maxBatch: 1,
      write: async () => {
        most = Math.max(most, ++running)
        await open.promise
        running--
      },
    })
    const added = Array.from({ length: 9 }, (_, item) => all.add(item))
    await expect.poll(() => running).toBe(3)
    await passing(5)
    open.resolve()
    await Promise.all(added)
    expect(most).toBe(3)
  })
})

describe('a write that fails', () => {
  it('because of a lost connection is retried without an error for callers', async () => {
    let attempts = 0
    const written: number[][] = []
    const all = batcher({
      retryForMs: 60_000,
      write: async items => {
        if (++attempts < 4) throw gone()
        written.push(items)
      },
    })
    await Promise.all([all.add(1), all.add(2)])
    expect(written).toEqual([[1, 2]])
  })

  it('beyond retryForMs rejects each item and calls onGivenUp once', async () => {
    const reported: unknown[] = []
    const all = batcher({
      retryForMs: 0,
      write: async () => {
        throw gone()
      },
      onGivenUp: error => reported.push(error),
    })
    const outcomes = await Promise.allSettled([1, 2, 3].map(item => all.add(item)))
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(reported).toEqual([gone()])
  })

  it('is retried although the system clock was set forward', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    let attempts = 0
    const all = batcher({
      retryForMs: 60_000,
      write: async () => {
        vi.setSystemTime(Date.now() + 3_600_000)
        if (++attempts === 1) throw gone()
      },
    })
    await all.add(1).finally(() => vi.useRealTimers())
    expect(attempts).toBe(2)
  })

  it('with a retryable error is never split: all items fail together after retryForMs', async () => {
    let attempts = 0
    const all = batcher({
      retryForMs: 120,
      write: async items => {
        attempts++
        expect(items).toHaveLength(3)
        throw gone()
      },
    })
    const results = await Promise.allSettled([all.add(1), all.add(2), all.add(3)])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(attempts).toBeGreaterThan(1)
  })

  it('because of one item rejects that item only and writes the others in order', async () => {
    const written: number[] = []
    const all = batcher({
      write: async items => {
        if (items.includes(3)) throw refused()
        written.push(...items)
      },
    })
    const results = await Promise.allSettled([1, 2, 3, 4, 5].map(item => all.add(item)))
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(results[2]).toMatchObject({ reason: { code: 'refused' } })
    expect(written).toEqual([1, 2, 4, 5])
  })

  it.each([
    ['the first', [0]],
    ['one in the middle', [700]],
    ['the last', [1023]],
    ['two neighbours', [511, 512]],
    ['three', [1, 400, 1000]],
  ])('H2: is split in halves until only the invalid items fail: %s of 1,024', async (_which, invalid) => {
    const items = Array.from({ length: 1024 }, (_, item) => item)
    const written: number[] = []
    let writes = 0
    const all = batcher({
      maxBatch: 2_000,
      maxWaiting: 2_000,
      write: async batch => {
        writes++
        if (batch.some(item => invalid.includes(item))) throw refused()
        written.push(...batch)
      },
    })
    const results = await Promise.allSettled(items.map(item => all.add(item)))
    const failed = items.filter(item => results[item]!.status === 'rejected')
    expect(failed).toEqual(invalid)
    expect(written).toEqual(items.filter(item => !invalid.includes(item)))
    expect(writes).toBeLessThanOrEqual(1 + invalid.length * 2 * Math.log2(items.length))
  })

  it('H2: is split as often as needed when all items are invalid', async () => {
    let writes = 0
    const all = batcher({
      write: async () => {
        writes++
        throw refused()
      },
    })
    const results = await Promise.allSettled(Array.from({ length: 64 }, (_, item) => all.add(item)))
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(writes).toBe(2 * 64 - 1)
  })

  it('is tried a second time for an item that was alone in its batch', async () => {
    let attempts = 0
    const all = batcher({
      write: async () => {
        if (++attempts === 1) throw Object.assign(new Error('a partition is being made'), { code: '23514' })
      },
    })
    await all.add(1)
    expect(attempts).toBe(2)
  })

  it('does not affect the next batch', async () => {
    let isBroken = true
    const all = batcher({
      write: async () => {
        if (isBroken) throw refused()
      },
    })
    await expect(all.add(1)).rejects.toThrow('refused')
    isBroken = false
    await all.add(2)
  })
})
