import { afterEach, describe, expect, it, vi } from 'vitest'
import { FairLimiter, type FairLimiterOptions, type Permit, type TaskOptions } from './fair-limiter.ts'

afterEach(() => vi.useRealTimers())

/** Makes a limiter whose tasks run until the test ends them. `begun` holds the names of started tasks, in order. */
function limiterOf(options: FairLimiterOptions) {
  const limiter = new FairLimiter(options)
  const begun: string[] = []
  const add = (name: string, taskOptions?: TaskOptions) => {
    const { promise, resolve: end, reject: fail } = Promise.withResolvers<string>()
    const done = limiter.run(() => {
      begun.push(name)
      return promise
    }, taskOptions)
    // The test awaits this promise later. Without a handler, an earlier rejection would count as unhandled.
    done.catch(() => {})
    return {
      done,
      end: () => {
        end(name)
        return done
      },
      fail: (error: Error) => {
        fail(error)
        return done
      },
    }
  }
  return { limiter, begun, add, addOf: (name: string) => add(name, { owner: name[0]! }) }
}

const settle = () => new Promise(resolve => setImmediate(resolve))

describe('with a share of what others leave free', () => {
  it('S27: a few owners never use up the limit, and one alone has all of its own', async () => {
    const { limiter, begun, addOf } = limiterOf({ max: 8, maxPerOwner: 6, maxShareOfFree: 0.5 })
    const ofA = Array.from({ length: 8 }, () => addOf('a'))
    const ofB = Array.from({ length: 8 }, () => addOf('b'))
    const ofC = Array.from({ length: 2 }, () => addOf('c'))
    await settle()
    expect(begun.join('')).toBe('aaaaaabc')
    expect(['a', 'b', 'd'].map(owner => limiter.maxOf(owner))).toEqual([3, 1, 1])
    // When tasks of `a` end, waiting tasks of `b` and `c` begin.
    for (const one of ofA.slice(0, 4)) await one.end()
    await settle()
    expect(begun.join('')).toBe('aaaaaabcbc')
    for (const one of [...ofA, ...ofB, ...ofC]) void one.end()
    await Promise.all([...ofA, ...ofB, ...ofC].map(({ done }) => done))
    expect(limiter.maxOf('a')).toBe(6)
  })
})

describe('tasks', () => {
  it('run concurrently up to the limit, and further tasks begin in order', async () => {
    const { begun, add } = limiterOf({ max: 2 })
    const tasks = ['0', '1', '2', '3'].map(name => add(name))
    await settle()
    expect(begun).toEqual(['0', '1'])
    await tasks[1]!.end()
    await settle()
    expect(begun).toEqual(['0', '1', '2'])
    await tasks[0]!.end()
    await settle()
    expect(begun).toEqual(['0', '1', '2', '3'])
    expect(await Promise.all([tasks[2]!.end(), tasks[3]!.end(), ...tasks.map(({ done }) => done)])).toEqual([
      '2',
      '3',
      '0',
      '1',
      '2',
      '3',
    ])
  })

  it('never exceed the limit and begin in order, also after failures', async () => {
    const limiter = new FairLimiter({ max: 3 })
    let [running, most] = [0, 0]
    const order: number[] = []
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) =>
        limiter.run(async () => {
          order.push(at)
          most = Math.max(most, ++running)
          await new Promise(resolve => setTimeout(resolve))
          running--
          if (at % 4 === 0) throw new Error('odd')
        }),
      ),
    )
    expect(most).toBe(3)
    expect(order).toEqual(Array.from({ length: 20 }, (_, at) => at))
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(5)
  })

  it('release their permit when they fail', async () => {
    const { limiter, add } = limiterOf({ max: 1 })
    await expect(add('1').fail(new Error('no'))).rejects.toThrow('no')
    await expect(
      limiter.run(() => {
        throw new Error('at once')
      }),
    ).rejects.toThrow('at once')
    expect(await limiter.run(async () => 'yes')).toBe('yes')
  })

  it('free only one place when they release a permit twice', async () => {
    const limiter = new FairLimiter({ max: 1 })
    const first = await limiter.enter()
    first.release()
    first.release()
    const second = await limiter.enter()
    let hasThird = false
    const third = limiter.enter().then(() => (hasThird = true))
    await settle()
    expect(hasThird).toBe(false)
    second[Symbol.dispose]()
    await third
  })

  it('begin before newer tasks when a permit becomes free', async () => {
    const { begun, add } = limiterOf({ max: 1 })
    const first = add('first')
    add('second')
    const third = first.end().then(() => add('third'))
    await third
    await settle()
    expect(begun).toEqual(['first', 'second'])
  })
})

describe('owners', () => {
  it('are served round-robin', async () => {
    const { begun, addOf } = limiterOf({ max: 1 })
    const tasks = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(addOf)
    for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) {
      await settle()
      expect(begun.at(-1)).toBe(name)
      await tasks[['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].indexOf(name)]!.end()
    }
  })

  it('wait at their own limit while tasks of other owners begin', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { begun, addOf } = limiterOf({ max: 2, maxPerOwner: 1, waitMs: 50 })
    const [a1, a2, b1, c1, late] = ['a1', 'a2', 'b1', 'c1', 'a3'].map(addOf)
    await settle()
    expect(begun).toEqual(['a1', 'b1'])
    // Owner `a` is at its limit and does not get the free permit.
    await b1!.end()
    await settle()
    expect(begun).toEqual(['a1', 'b1', 'c1'])
    await a1!.end()
    await settle()
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2'])
    vi.advanceTimersByTime(50)
    await expect(late!.done).rejects.toMatchObject({ name: 'LimiterRejection', reason: 'timeout' })
    await Promise.all([a2!.end(), c1!.end()])
    expect(begun).toHaveLength(4)
  })
})

describe('a task that would wait', () => {
  it('is rejected at once when the queue is full', async () => {
    const { limiter, add } = limiterOf({ max: 1, maxWaiting: 1 })
    const first = add('first')
    expect(limiter.isFull).toBe(false)
    const waiting = add('waiting')
    expect(limiter.isFull).toBe(true)
    await expect(add('late').done).rejects.toMatchObject({ name: 'LimiterRejection', reason: 'full' })
    await first.end()
    await waiting.end()
  })

  it('is rejected at once when its owner has as many waiting tasks as may wait, and those of others are not', async () => {
    const { addOf } = limiterOf({ max: 1, maxWaiting: 10, maxWaitingPerOwner: 1 })
    const first = addOf('a1')
    const waiting = addOf('a2')
    await expect(addOf('a3').done).rejects.toMatchObject({ reason: 'full' })
    const other = addOf('b1')
    await first.end()
    await Promise.all([waiting.end(), other.end()])
  })

  it('is rejected at once when maxWaiting is 0', async () => {
    const { addOf } = limiterOf({ max: 2, maxPerOwner: 1, maxWaiting: 0 })
    const first = addOf('a1')
    await expect(addOf('a2').done).rejects.toMatchObject({ reason: 'full' })
    const other = addOf('b1')
    await expect(addOf('c1').done).rejects.toMatchObject({ reason: 'full' })
    await first.end()
    await addOf('a3').end()
    await other.end()
  })
})

describe('a task that waits', () => {
  it('is rejected after `waitMs`, and the next task gets the permit', async () => {
    vi.useFakeTimers()
    const { limiter } = limiterOf({ max: 1, maxWaiting: 10, waitMs: 1_000 })
    const first = await limiter.enter()
    const tooLong = limiter.enter()
    vi.advanceTimersByTime(500)
    const inTime = limiter.enter()
    vi.advanceTimersByTime(700)
    await expect(tooLong).rejects.toMatchObject({ reason: 'timeout' })
    first.release()
    ;(await inTime).release()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is rejected at its deadline although a blocked event loop delays the timer', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const { limiter } = limiterOf({ max: 1, waitMs: 1_000 })
    const first = await limiter.enter()
    const waiting = [limiter.enter(), limiter.enter()]
    const outcomes = Promise.allSettled(waiting)
    vi.advanceTimersByTime(5_000)
    first.release()
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    // The rejected tasks did not consume a permit.
    ;(await limiter.enter()).release()
  })

  it('is not rejected when the system clock is set forward', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { limiter } = limiterOf({ max: 1, maxWaiting: 10, waitMs: 60_000 })
    const first = await limiter.enter()
    const waiting = limiter.enter()
    vi.setSystemTime(Date.now() + 3_600_000)
    first.release()
    vi.useRealTimers()
    ;(await waiting).release()
  })

  it('leaves the queue when its signal aborts', async () => {
    const { limiter, add } = limiterOf({ max: 1 })
    const first = add('first')
    const controller = new AbortController()
    const second = add('second', { signal: controller.signal })
    controller.abort(new Error('left'))
    await expect(second.done).rejects.toThrow('left')
    await expect(add('late', { signal: controller.signal }).done).rejects.toThrow('left')
    await first.end()
    expect(await limiter.run(async () => 'third')).toBe('third')
  })

  it('removes its abort listener from a signal that outlives it', async () => {
    const { limiter } = limiterOf({ max: 1 })
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const first = await limiter.enter({ signal })
    expect(added).not.toHaveBeenCalled()
    const second = limiter.enter({ signal })
    first.release()
    ;(await second).release()
    await settle()
    expect(added).toHaveBeenCalledOnce()
    expect(removed.mock.calls[0]![1]).toBe(added.mock.calls[0]![1])
  })

  it('is rejected, like later tasks, when the signal of the limiter aborts', async () => {
    const controller = new AbortController()
    const { add } = limiterOf({ max: 1, waitMs: 60_000, signal: controller.signal })
    const first = add('first')
    const waiting = add('waiting')
    controller.abort(new Error('offline'))
    await expect(waiting.done).rejects.toThrow('offline')
    await expect(add('late').done).rejects.toThrow('offline')
    expect(await first.end()).toBe('first')
  })
})

describe('limits that change', () => {
  it('keep the oldest tasks waiting and reject the rest', async () => {
    const { limiter, begun, add } = limiterOf({ max: 2, maxWaiting: 10 })
    const tasks = ['1', '2', '3', '4', '5'].map(name => add(name))
    limiter.setLimits({ max: 1, maxWaiting: 1 })
    for (const late of tasks.slice(3)) await expect(late.done).rejects.toMatchObject({ reason: 'full' })
    await tasks[0]!.end()
    await settle()
    expect(begun).toEqual(['1', '2'])
    await tasks[1]!.end()
    await settle()
    expect(begun).toEqual(['1', '2', '3'])
  })

  it('let waiting tasks begin when they grow', async () => {
    const { limiter, begun, add } = limiterOf({ max: 1 })
    for (const name of ['1', '2', '3', '4']) add(name)
    limiter.setLimits({ max: 3, maxWaiting: 10 })
    await settle()
    expect(begun).toEqual(['1', '2', '3'])
  })
})

it('runs tasks in browsers without Symbol.dispose', async () => {
  class WithoutDispose extends FairLimiter {
    override async enter(options?: TaskOptions): Promise<Permit> {
      const { release } = await super.enter(options)
      return { release } as Permit
    }
  }
  const limiter = new WithoutDispose({ max: 1 })
  await expect(limiter.run(async () => 1)).resolves.toBe(1)
  await expect(limiter.run(async () => 2)).resolves.toBe(2)
})
