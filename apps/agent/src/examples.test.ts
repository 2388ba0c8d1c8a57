import { spawn, spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { isInstalled } from '@muster/testkit/debian'
import { expect, it } from 'vitest'
import { FakeHub } from './testing/fake-hub.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

const EXAMPLES = join(import.meta.dirname, '../examples')
const SYSTEMD_ANALYZE = '/usr/bin/systemd-analyze'
const hasTools = isInstalled('/usr/bin/jq', 'jq')
const VERSION = `pkg_v_${'2'.repeat(22)}`

/** A device whose updaters are stand-ins that write down how they were called. */
async function device(hub: FakeHub) {
  const folder = await temporaryFolder()
  const bin = join(folder.path, 'bin')
  await mkdir(bin)
  const program = async (name: string, body: string) => {
    await writeFile(join(bin, name), `#!/bin/sh\n${body}\n`)
    await chmod(join(bin, name), 0o755)
  }
  const token = `deployment_${'1'.repeat(66)}`
  const main = join(import.meta.dirname, 'main.ts')
  const options = `--hub ${hub.url} --token ${token} --data "${folder.path}/data"`
  await program('muster-agent', `exec "${process.execPath}" "${main}" "$@" ${options}`)
  const noting = 'echo "$(basename "$0") $*" >>"$NOTES"'
  await program('reboot', noting)
  await program(
    'rauc',
    `${noting}\n[ "$1 $2" != 'status --output-format=json' ] || echo "{\\"booted\\":\\"$(cat slot)\\"}"`,
  )
  await program(
    'rugix-ctrl',
    `${noting}\n[ "$1 $2" != 'system info' ] || echo "{\\"boot\\":{\\"activeGroup\\":\\"$(cat slot)\\"}}"`,
  )
  const notes = join(folder.path, 'notes')
  await writeFile(join(folder.path, 'slot'), 'a')
  return {
    /** The system partition that the device runs from. */
    startFrom: (slot: string) => writeFile(join(folder.path, 'slot'), slot),
    async update(tool: string): Promise<{ code: number | null; err: string; notes: string[] }> {
      await writeFile(notes, '')
      const child = spawn(join(EXAMPLES, 'ota/ota-bundle'), {
        cwd: folder.path,
        env: {
          PATH: `${bin}:/usr/bin:/bin`,
          NOTES: notes,
          OTA_TOOL: tool,
          OTA_PATH: 'fleet/pump/stable',
          OTA_STATE_FOLDER: join(folder.path, 'state'),
        },
      })
      const [err] = await Promise.all([text(child.stderr), new Promise(done => child.once('close', done))])
      return { code: child.exitCode, err, notes: (await readFile(notes, 'utf8')).split('\n').filter(Boolean) }
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

/** A hub with one version under the tag. */
async function hubWithVersion(): Promise<FakeHub> {
  const hub = await FakeHub.start()
  const asset = {
    filename: 'system.bundle',
    assetId: `repo_a_${'3'.repeat(22)}`,
    size: 7,
    metadata: { rugix: { bundleHash: 'sha512-256:ab' } },
  }
  hub.answers.devices_GetProperty = '{"result":"NotFound"}'
  hub.answers.repositories_ResolveVersionByPath = JSON.stringify({ result: 'Found', versionId: VERSION })
  hub.answers.repositories_GetVersionDetails = JSON.stringify({
    versionId: VERSION,
    assets: [asset],
    metadata: { imageVersion: '2.0.0' },
  })
  hub.answers.repositories_IssueAssetDownloadUrl = '{"url":"http://hub/bundle"}'
  return hub
}

const states = (hub: FakeHub) =>
  hub.callsOf('devices_SetProperty').map(({ input }) => (input.value as { state: string }).state)

it.skipIf(!hasTools)('a bundle is installed by RAUC, and counts once the device runs from it', async () => {
  await using hub = await hubWithVersion()
  await using at = await device(hub)
  const installed = await at.update('rauc')
  expect(installed).toMatchObject({ code: 0, err: '' })
  expect(installed.notes).toEqual([
    'rauc install http://hub/bundle',
    'rauc status --output-format=json',
    'reboot ',
  ])
  expect(states(hub)).toEqual(['installing', 'rebooting'])
  await at.startFrom('b')
  const committed = await at.update('rauc')
  expect(committed).toMatchObject({ code: 0, err: '' })
  expect(committed.notes).toEqual(['rauc status --output-format=json', 'rauc status mark-good'])
  expect(states(hub).slice(2, 4)).toEqual(['committing', 'completed'])
  expect(hub.callsOf('devices_SetProperty').at(-1)!.input).toMatchObject({
    name: 'dev.nexigon.ota.status',
    value: { currentVersion: '2.0.0', targetVersion: '2.0.0', failureCount: 0, lastError: null },
  })
})

it.skipIf(!hasTools)('a device whose updater does not tell what it runs from commits nothing', async () => {
  await using hub = await hubWithVersion()
  await using at = await device(hub)
  expect(await at.update('rauc')).toMatchObject({ code: 0 })
  await at.startFrom('')
  expect(await at.update('rauc')).toMatchObject({
    code: 1,
    err: 'rauc does not tell which system runs\n',
    notes: ['rauc status --output-format=json'],
  })
  await at.startFrom('b')
  expect((await at.update('rauc')).notes).toEqual([
    'rauc status --output-format=json',
    'rauc status mark-good',
  ])
})

it.skipIf(!hasTools)('a device that cannot ask what it follows does nothing', async () => {
  await using hub = await hubWithVersion()
  await using at = await device(hub)
  hub.errors.devices_GetProperty = 'not now'
  expect(await at.update('rauc')).toMatchObject({
    code: 1,
    notes: [],
    err: expect.stringContaining('not now'),
  })
  expect(hub.callsOf('repositories_ResolveVersionByPath')).toEqual([])
})

it.skipIf(!hasTools)(
  'a bundle is installed by Rugix by its hash, and a device that falls back says so',
  async () => {
    await using hub = await hubWithVersion()
    await using at = await device(hub)
    const { code, notes } = await at.update('rugix')
    expect(code).toBe(0)
    expect(notes).toEqual([
      'rugix-ctrl update install --bundle-hash sha512-256:ab --reboot no http://hub/bundle',
      'rugix-ctrl system info',
      'rugix-ctrl system reboot --spare',
    ])
    expect(await at.update('rugix')).toMatchObject({
      code: 1,
      err: 'the device came back with the system that it had before\n',
      notes: ['rugix-ctrl system info'],
    })
    expect(hub.callsOf('devices_SetProperty').at(-1)!.input.value).toMatchObject({
      state: 'failed',
      failureCount: 1,
    })
  },
)

it.skipIf(!isInstalled(SYSTEMD_ANALYZE, 'systemd'))(
  'systemd finds nothing wrong with the units',
  async () => {
    await using folder = await temporaryFolder()
    const units = (await readdir(EXAMPLES, { recursive: true })).filter(name =>
      /\.(service|timer)$/.test(name),
    )
    expect(units).toHaveLength(3)
    for (const unit of units) {
      const lines = await readFile(join(EXAMPLES, unit), 'utf8')
      // The programs are not installed here.
      await writeFile(
        join(folder.path, unit.split('/').at(-1)!),
        lines.replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true'),
      )
    }
    const files = (await readdir(folder.path)).map(name => join(folder.path, name))
    const { status, stderr } = spawnSync(SYSTEMD_ANALYZE, ['verify', '--man=no', ...files], {
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  },
)
