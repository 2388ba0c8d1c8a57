import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { publicIdOf } from '@muster/actions'
import { createFirstProject } from '../features/projects/first-project.ts'
import type { Hub } from '../hub.ts'
import { SYSTEM } from '../platform/pipeline/caller.ts'
import { commandTransaction } from '../platform/pipeline/command-transaction.ts'
import type { Logger } from '../platform/runtime/log.ts'

const DEVICE_COUNT = 24
/** Interval at which unnamed devices of the fleet get a name, in milliseconds. */
const NAME_EVERY_MS = 2_000
const AGENT = join(import.meta.dirname, '../../../agent/muster-agent.js')

/**
 * Runs a simulated fleet in an organization of its own, connected through the gateway like real devices. The fleet is a child
 * process. It exits when its standard input closes, so it also ends when the hub is killed.
 */
export async function startDemo(hub: Hub, dataDir: string, log: Logger): Promise<AsyncDisposable> {
  const token = await demoToken(hub, join(dataDir, 'demo-token'), log)
  const options = [
    '--log-level',
    'error',
    'simulate',
    '--hub',
    hub.publicUrl,
    '--token',
    token,
    '--count',
    String(DEVICE_COUNT),
    '--history',
    '24',
    '--while-stdin-open',
  ]
  const fleet = spawn(process.execPath, [AGENT, ...options], { stdio: ['pipe', 'ignore', 'pipe'] })
  let problem = ''
  fleet.stderr.on('data', (chunk: Buffer) => {
    problem = `${problem}${chunk}`.slice(-500)
  })
  fleet.on('error', error => log.error({ err: error }, 'the simulated fleet did not start'))
  fleet.on('close', code => {
    if (code === 0) log.info('the simulated fleet ended')
    else log.warn({ code, problem: problem.trim() }, 'the simulated fleet ended')
  })
  fleet.stdin.on('error', () => {})
  const naming = setInterval(() => {
    nameDevices(hub, publicIdOf(token)).then(
      isDone => isDone && clearInterval(naming),
      error => log.warn({ err: error }, 'the simulated fleet could not be named'),
    )
  }, NAME_EVERY_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(naming)
      if (fleet.exitCode !== null || fleet.signalCode !== null) return
      const ended = new Promise(done => fleet.once('exit', done))
      fleet.stdin.end()
      const timer = setTimeout(() => fleet.kill('SIGKILL'), 5_000)
      await ended
      clearTimeout(timer)
    },
  }
}

/** Deployment token of the demo's project. A file keeps it, because the database has only its hash. */
async function demoToken(hub: Hub, file: string, log: Logger): Promise<string> {
  const kept = await readFile(file, 'utf8').catch(() => undefined)
  // The token is unknown if its project was deleted or if the hub uses another database than before.
  if (kept && (await isKnown(hub, publicIdOf(kept)))) return kept
  const admin = await hub.db
    .selectFrom('user')
    .where('is_admin', '=', true)
    .select('user_id')
    .limit(1)
    .executeTakeFirstOrThrow()
  const names = { userId: admin.user_id, organization: 'Demo', project: 'Simulated fleet' }
  const { deploymentToken } = await commandTransaction(
    transaction => createFirstProject(transaction, names),
    { caller: SYSTEM, scope: {} },
    { ...hub, log },
  )
  await writeFile(file, deploymentToken, { mode: 0o600 })
  return deploymentToken
}

async function isKnown({ db }: Hub, tokenId: string): Promise<boolean> {
  const found = db.selectFrom('deployment_token').where('token_id', '=', tokenId).select('token_id')
  return (await found.executeTakeFirst()) !== undefined
}

/** Names each device of the fleet after its host name. Resolves to true when all devices have a name. */
async function nameDevices(hub: Hub, tokenId: string): Promise<boolean> {
  const devices = await hub.db
    .selectFrom('device as d')
    .innerJoin('deployment_token as t', 't.project_id', 'd.project_id')
    .where('t.token_id', '=', tokenId)
    .select(['d.device_id', 'd.name', 'd.hostname'])
    .execute()
  for (const { device_id: deviceId, name, hostname } of devices) {
    if (name === null && hostname)
      await hub.pipeline.run(SYSTEM, 'devices_SetName', { deviceId, name: hostname })
  }
  return devices.length >= DEVICE_COUNT && devices.every(({ name }) => name !== null)
}
