import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '@muster/testkit/until'
import { expect } from 'vitest'
import { databaseHome, databaseProcesses, type HubChildOptions, spawnHub } from './hub-child.ts'

/** Waits until the database server of a hub has ended, and checks that no socket folder and no lock are left. */
export async function expectNothingLeft(dataDir: string, socketDir: string): Promise<void> {
  await until('the database server has ended', async () => {
    const { server, shells } = await databaseProcesses(dataDir)
    return server.length === 0 && shells.length === 0
  })
  expect(existsSync(socketDir)).toBe(false)
  expect(existsSync(join(dataDir, 'hub.lock'))).toBe(false)
  expect(existsSync(join(await databaseHome(dataDir), 'data/postmaster.pid'))).toBe(false)
}

/** The folder with the socket of a hub's database server. */
export async function socketDirOf(dataDir: string): Promise<string> {
  return readFile(join(await databaseHome(dataDir), 'socket'), 'utf8')
}

/** Runs the hub until it exits with this code. Expects a single line on standard error and returns it. */
export async function complaint(start: HubChildOptions, exitCode = 1): Promise<string> {
  const hub = await spawnHub(start)
  const { code, signal } = await hub.exited
  const lines = hub
    .stderr()
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('{"level":"info"'))
  expect({ code, signal, lines }).toMatchObject({ code: exitCode, signal: null, lines: [expect.any(String)] })
  expect(performance.now() - hub.startedAt).toBeLessThan(15_000)
  expect(hub.stdout()).toBe('')
  return lines[0]!
}
