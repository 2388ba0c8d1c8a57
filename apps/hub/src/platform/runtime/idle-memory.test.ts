import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** Options of the hub (apps/hub/muster-hub.js), with which V8 keeps what it does not use. */
const HUB_OPTIONS = ['--expose-gc', '--heap-growing-percent=100', '--no-memory-reducer']
/** Fills the heap with objects that soon are garbage, then is idle. Prints its resident memory in MiB before and after it has shrunk. */
const PROCESS = `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { releaseIdleMemory } from ${JSON.stringify(join(import.meta.dirname, 'idle-memory.ts'))}
  const residentMiB = () => Math.round(process.memoryUsage.rss() / 1024 ** 2)
  using _release = releaseIdleMemory(globalThis.gc, 200)
  let garbage = []
  for (let n = 0; n < 1_000_000; n++) garbage.push({ n })
  garbage = undefined
  const before = residentMiB()
  let after = before
  while (after > before - 30) {
    await sleep(50)
    after = residentMiB()
  }
  process.stdout.write(before + ' ' + after)
`

it('O18: an idle process gives memory back that it does not use', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [...HUB_OPTIONS, '--input-type=module', '--eval', PROCESS],
    { encoding: 'utf8', timeout: 20_000 },
  )
  expect(stderr).toBe('')
  const [before = 0, after = Number.POSITIVE_INFINITY] = stdout.split(' ').map(Number)
  expect(after).toBeLessThanOrEqual(before - 30)
})
