import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { connectServiceManager } from './service-manager.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-notify-'))
})
// A program that a manager has started may still write into the folder.
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))

/** A program in place of `systemd-notify` that appends its arguments to a file. */
async function recorder(name: string, exitCode = 0) {
  const [program, file] = [join(folder, name), join(folder, `${name}.log`)]
  await writeFile(program, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >>${file}\nexit ${exitCode}\n`)
  await chmod(program, 0o755)
  return { program, sent: () => readFile(file, 'utf8').catch(() => '') }
}

it('reports the start, a running event loop and the stop', async () => {
  const { program, sent } = await recorder('notify')
  const failed = vi.fn()
  const env = { NOTIFY_SOCKET: '@systemd', WATCHDOG_USEC: '90000' }
  const manager = connectServiceManager(env, failed, program)
  expect(await sent()).toBe('')
  manager.ready()
  await expect.poll(sent).toMatch(/^@systemd READY=1$/m)
  await expect.poll(sent).toMatch(/^@systemd WATCHDOG=1$(.|\n)*^@systemd WATCHDOG=1$/m)
  manager.stopping()
  await expect.poll(sent).toMatch(/^@systemd STOPPING=1$/m)
  expect(failed).not.toHaveBeenCalled()
})

it('sends nothing without a service manager', async () => {
  const { program, sent } = await recorder('unused')
  const manager = connectServiceManager({ WATCHDOG_USEC: '10000' }, expect.unreachable, program)
  manager.ready()
  manager.stopping()
  // A message of the other manager comes later than any of this one.
  connectServiceManager({ NOTIFY_SOCKET: 'x' }, expect.unreachable, program).ready()
  await expect.poll(sent).toBe('x READY=1\n')
})

it('says once why messages cannot be sent', async () => {
  const failed = vi.fn()
  const missing = connectServiceManager({ NOTIFY_SOCKET: 'x' }, failed, join(folder, 'missing'))
  missing.ready()
  missing.stopping()
  await expect.poll(() => failed.mock.calls).toEqual([[expect.stringContaining('ENOENT')]])
  const { program } = await recorder('refused', 1)
  connectServiceManager({ NOTIFY_SOCKET: 'x' }, failed, program).ready()
  await expect.poll(() => failed.mock.calls.at(-1)).toEqual([`${program} ended with exit code 1`])
})
