import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@muster/testkit/free-port'
import type { TestProject } from 'vitest/node'
import { unpackBrowser } from './browser.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Data folder of a stopped hub that was started once. It has a migrated database and the first administrator. */
    firstStart: string
  }
}

const START_TIMEOUT_MS = 120_000

const isReady = (output: string): boolean => output.includes('Stop with Ctrl-C.')

/**
 * Global set-up of the browser tests. Unpacks the browser, starts a hub on an empty data folder once and stops it, because a first
 * start needs most of its time to create the database. The hub of each test file starts on a copy of the folder (`copyFirstStart`).
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-first-start-'))
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 })
  try {
    // When the tests run as root, PostgreSQL runs under another account, which must be able to enter the folder.
    await chmod(folder, 0o755)
    const dataDir = join(folder, 'data')
    await Promise.all([unpackBrowser(), startOnce(dataDir)])
    await shareRuntime(join(dataDir, 'postgres/18'), folder)
    project.provide('firstStart', dataDir)
  } catch (error) {
    await remove()
    throw error
  }
  return remove
}

/**
 * Starts a hub on an empty data folder and stops it as soon as it is ready. Throws if the hub does not end with exit code 0 within
 * `START_TIMEOUT_MS`, which covers start and stop.
 */
async function startOnce(dataDir: string): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../apps/hub/muster-hub.js')], {
    env: { PATH: process.env.PATH, MUSTER_DATA_DIR: dataDir, MUSTER_PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: START_TIMEOUT_MS,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      const wasReady = isReady(output)
      output += chunk
      // A second signal would end the hub before its database has stopped.
      if (!wasReady && isReady(output)) child.kill('SIGTERM')
    })
  }
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the first start of the hub ended with ${code}: ${output}`)
}

/** Replaces PostgreSQL's programs, which are half of the data folder, by a link, so that all copies share the programs. */
async function shareRuntime(home: string, folder: string): Promise<void> {
  const name = (await readdir(home)).find(entry => entry.startsWith('runtime-'))
  if (!name) throw new Error(`found no runtime in ${home}`)
  await rename(join(home, name), join(folder, name))
  await symlink(join(folder, name), join(home, name))
}
