import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { SteadySync } from './steady-sync.ts'

const MIB = 1024 ** 2

it('syncs each 8 MiB, while the next 8 MiB are written', async () => {
  const syncs: PromiseWithResolvers<void>[] = []
  const sync = new SteadySync({
    datasync() {
      syncs.push(Promise.withResolvers())
      return syncs.at(-1)!.promise
    },
    sync: async () => {},
  })
  await sync.wrote(7 * MIB)
  expect(syncs).toHaveLength(0)
  await sync.wrote(MIB)
  await sync.wrote(7 * MIB)
  expect(syncs).toHaveLength(1)

  let isAccepted = false
  const third = sync.wrote(MIB).then(() => {
    isAccepted = true
  })
  await turn()
  expect(isAccepted).toBe(false)
  syncs[0]!.resolve()
  await third
  expect(syncs).toHaveLength(2)

  let isOnDisk = false
  const end = sync.end().then(() => {
    isOnDisk = true
  })
  await turn()
  expect(isOnDisk).toBe(false)
  syncs[1]!.resolve()
  await end
})

it('reports a failed sync at the next portion and at the end', async () => {
  const failure = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
  const sync = new SteadySync({ datasync: () => Promise.reject(failure), sync: async () => {} })
  await sync.wrote(8 * MIB)
  await turn()
  await expect(sync.wrote(8 * MIB)).rejects.toBe(failure)
  await expect(sync.end()).rejects.toBe(failure)
})
