import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ActionInput } from '@muster/actions'
import { type TestHub, type TestUser, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { temporaryFolder } from '../testing/temporary-folder.ts'

const AGENT = join(import.meta.dirname, '../../muster-agent.js')

let hub: TestHub
let owner: TestUser
let token: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, token } = await hub.fleet())
})
afterAll(() => hub[Symbol.asyncDispose]())

/** A device whose agent runs as a process of its own. */
async function machine() {
  const folder = await temporaryFolder()
  const { path } = folder
  await mkdir(join(path, 'commands'))
  const program = async (name: string, script: string): Promise<void> =>
    writeFile(join(path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  await program('fingerprint', `echo ${path}`)
  await program('slow', `echo run >> ${path}/runs; sleep 3; echo '{"type":"Output","data":{"ok":true}}'`)
  await program(
    'copy',
    `read line; echo "$line" >> ${path}/inputs
     case "$line" in *'"checkpoint"'*) exit 0 ;; esac
     echo '{"type":"Checkpoint","data":{"part":1}}'; sleep 60`,
  )
  await writeFile(
    join(path, 'commands', 'slow.toml'),
    `[command]\nname = "slow"\n[exec]\nhandler = ["${path}/slow"]\n`,
  )
  const config = join(path, 'agent.toml')
  await writeFile(
    config,
    `hub-url = "${hub.url}"
token = "${token}"
fingerprint-script = "${path}/fingerprint"
ssl-cert = "cert.pem"
ssl-key = "key.pem"
data-path = "data"
dangerous-allow-plaintext = true
[commands]
enabled = true
directory = "commands"
[operations]
enabled = true
poll-interval-secs = 1
[[operations.tasks]]
name = "copy"
handler = ["${path}/copy"]
resumable = true
`,
    { mode: 0o600 },
  )
  const start = () => spawn(process.execPath, [AGENT, 'run', '--config', config], { stdio: 'ignore' })
  let child = start()
  return {
    path,
    linesOf: async (file: string) =>
      (await readFile(join(path, file), 'utf8').catch(() => '')).split('\n').filter(Boolean),
    /** Kills the agent without a chance to do anything, and starts it again. */
    async killAndRestart(): Promise<void> {
      child.kill('SIGKILL')
      await once(child, 'exit')
      child = start()
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await once(child, 'exit')
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function start(deviceId: string, steps: ActionInput<'devices_CreateOperation'>['steps']) {
  const { deviceOperationId } = await owner.invoke('devices_CreateOperation', {
    deviceId,
    name: 'Test',
    steps,
  })
  await owner.invoke('devices_StartOperation', { deviceOperationId })
  return async () => {
    const found = await owner.invoke('devices_GetOperation', { deviceOperationId })
    if (found.result !== 'Found') throw new Error('the operation was not found')
    return found
  }
}

const newestDevice = () =>
  until('the device connects', async () => {
    const { rows } = await hub.pool.query<{ device_id: string }>(
      `select p.device_id from device_property p where p.name = 'dev.nexigon.commands'
        order by p.last_updated desc limit 1`,
    )
    return rows[0]?.device_id
  })

it('does commands and tasks of a real hub, each once, although the agent is killed', async () => {
  await using device = await machine()
  const deviceId = await newestDevice()
  const done = await start(deviceId, [{ kind: 'DeviceCommand', command: 'slow', input: null }])
  await until('the command runs', async () => (await device.linesOf('runs')).length === 1)
  await until('it succeeds', async () => (await done()).summary.status === 'Succeeded')
  expect((await done()).stepStates[0]).toMatchObject({ output: { ok: true } })

  const killed = await start(deviceId, [{ kind: 'DeviceCommand', command: 'slow', input: null }])
  await until('the command runs', async () => (await device.linesOf('runs')).length === 2)
  await device.killAndRestart()
  await until('it fails', async () => (await killed()).summary.status === 'Failed')
  expect((await killed()).summary.lastError).toContain('It is not run a second time.')

  const copied = await start(deviceId, [{ kind: 'DeviceTask', task: 'copy', input: { from: 'a' } }])
  await until('a checkpoint arrives', async () => (await copied()).stepStates[0]!.checkpoint !== undefined)
  await device.killAndRestart()
  await until('it succeeds', async () => (await copied()).summary.status === 'Succeeded')
  const inputs = (await device.linesOf('inputs')).map(line => JSON.parse(line) as { checkpoint?: unknown })
  expect(inputs.map(({ checkpoint }) => checkpoint)).toEqual([undefined, { part: 1 }])
  expect(await device.linesOf('runs')).toHaveLength(2)
}, 120_000)
