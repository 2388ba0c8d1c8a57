import { join } from 'node:path'
import { expect, it } from 'vitest'
import { descendantsOf, newFolder, proportionalBytes, startedHub } from './hub-child.ts'

const MIB = 1024 * 1024

it('starts in 5 s at a later time, and takes less than 250 MiB with its database while it is idle', async () => {
  await using folder = await newFolder()
  const dataDir = join(folder.path, 'data')
  const first = await startedHub({ dataDir })
  const firstMs = performance.now() - first.startedAt
  const bytes = proportionalBytes([first.pid, ...descendantsOf(first.pid)])
  first.kill('SIGTERM')
  expect(await first.exited).toEqual({ code: 0, signal: null })
  await using again = await startedHub({ dataDir })
  const secondMs = performance.now() - again.startedAt
  process.stdout.write(
    `first start ${Math.round(firstMs)} ms, second start ${Math.round(secondMs)} ms, idle ${(bytes / MIB).toFixed(1)} MiB (PSS)\n`,
  )
  expect(secondMs).toBeLessThan(5_000)
  expect(bytes).toBeLessThan(250 * MIB)
})
