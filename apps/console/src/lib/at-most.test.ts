import { describe, expect, it } from 'vitest'
import { atMost } from './at-most.ts'

describe('atMost', () => {
  it('runs no more tasks at once than allowed, in order', async () => {
    const take = atMost(2)
    const finish: (() => void)[] = []
    const started: number[] = []
    const tasks = [0, 1, 2, 3].map(number =>
      take(() => {
        started.push(number)
        return new Promise<number>(resolve => finish.push(() => resolve(number)))
      }),
    )
    await settle()
    expect(started).toEqual([0, 1])
    finish[1]!()
    await settle()
    expect(started).toEqual([0, 1, 2])
    finish[0]!()
    await settle()
    for (const done of finish) done()
    expect(await Promise.all(tasks)).toEqual([0, 1, 2, 3])
  })

  it('goes on after a failure', async () => {
    const take = atMost(1)
    await expect(take(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await take(async () => 'yes')).toBe('yes')
  })

  it('leaves the queue when aborted', async () => {
    const take = atMost(1)
    let finish = () => {}
    const first = take(
      () =>
        new Promise<void>(resolve => {
          finish = resolve
        }),
    )
    const controller = new AbortController()
    const second = take(async () => 'never', controller.signal)
    controller.abort(new Error('left'))
    await expect(second).rejects.toThrow('left')
    finish()
    await first
    expect(await take(async () => 'third')).toBe('third')
  })
})

const settle = () => new Promise(resolve => setTimeout(resolve))
