import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createOrganization } from './bootstrap.ts'
import type { Hub } from './hub.ts'
import type { Logger } from './log.ts'

const DEVICE_COUNT = 24
const AGENT = join(import.meta.dirname, '../../agent/src/main.ts')

/**
 * Runs a simulated fleet in an organization of its own, connected through the gateway like any other. The fleet is another
 * process and ends with the hub, however that ends, because it watches its standard input.
 */
export async function startDemo(hub: Hub, dataDir: string, log: Logger): Promise<AsyncDisposable> {
  const token = await demoToken(hub, join(dataDir, 'demo-token'))
  const options = [
    'simulate',
    '--hub',
    hub.publicUrl,
    '--token',
    token,
    '--count',
    String(DEVICE_COUNT),
    '--while-stdin-open',
  ]
  const fleet = spawn(process.execPath, [AGENT, ...options], { stdio: ['pipe', 'ignore', 'ignore'] })
  fleet.on('error', error => log.error({ err: error }, 'the simulated fleet did not start'))
  fleet.on('exit', code => log.info({ code }, 'the simulated fleet ended'))
  fleet.stdin.on('error', () => {})
  return {
    async [Symbol.asyncDispose]() {
      if (fleet.exitCode !== null || fleet.signalCode !== null) return
      const ended = new Promise(done => fleet.once('exit', done))
      fleet.stdin.end()
      const timer = setTimeout(() => fleet.kill('SIGKILL'), 5_000)
      await ended
      clearTimeout(timer)
    },
  }
}

/** The token of the demo's project; it is kept in a file because the hub stores hashes only. */
async function demoToken(hub: Hub, file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch(() => undefined)
  if (kept) return kept
  const admin = await hub.db
    .selectFrom('user')
    .where('is_admin', '=', true)
    .select('user_id')
    .limit(1)
    .executeTakeFirstOrThrow()
  const { deploymentToken } = await hub.db
    .transaction()
    .execute(tx =>
      createOrganization(tx, { userId: admin.user_id, organization: 'Demo', project: 'Simulated fleet' }),
    )
  await writeFile(file, deploymentToken, { mode: 0o600 })
  return deploymentToken
}
