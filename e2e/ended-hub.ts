import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '@muster/testkit'
import { expect } from 'vitest'
import { databaseHome, databaseProcesses } from './hub-child.ts'

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
