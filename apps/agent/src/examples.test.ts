import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
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
const hasCurl = hasTools && isInstalled('/usr/bin/curl', 'curl')
const DISK_FULL = /^the disk is full/
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
  const main = join(import.meta.dirname, '../muster-agent.js')
  const options = `--hub ${hub.url} --token ${token} --data "${folder.path}/data"`
  // Where there is a file "offline", no hub can be reached.
  await program(
    'muster-agent',
    `[ ! -f offline ] || exit 1\nexec "${process.execPath}" "${main}" "$@" ${options}`,
  )
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
  await program('install', 'echo "install $(cat "$1") $2 $3" >>"$NOTES"')
  async function run(
    script: string,
    env: Record<string, string>,
  ): Promise<{ code: number | null; err: string; notes: string[] }> {
    await writeFile(notes, '')
    const child = spawn(join(EXAMPLES, 'ota', script), {
      cwd: folder.path,
      env: {
        PATH: `${bin}:/usr/bin:/bin`,
        NOTES: notes,
        OTA_PATH: 'fleet/pump/stable',
        OTA_STATE_FOLDER: join(folder.path, 'state'),
        ...env,
      },
    })
    const [err] = await Promise.all([text(child.stderr), new Promise(done => child.once('close', done))])
    return { code: child.exitCode, err, notes: (await readFile(notes, 'utf8')).split('\n').filter(Boolean) }
  }
  return {
    program,
    image: join(folder.path, 'image'),
    /** What the scripts keep. */
    state: join(folder.path, 'state'),
    /** Lets no file of this name be kept, as a full disk does. */
    takeRoom: (name: string) => mkdir(join(folder.path, 'state', `${name}.new`), { recursive: true }),
    /** The system partition that the device runs from. */
    startFrom: (slot: string) => writeFile(join(folder.path, 'slot'), slot),
    update: (tool: string) => run('ota-bundle', { OTA_TOOL: tool }),
    updateFile: () => run('ota-file', { OTA_INSTALL: join(bin, 'install'), OTA_PAUSE_SECS: '0' }),
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

const lastStatus = (hub: FakeHub) => hub.callsOf('devices_SetProperty').at(-1)!.input.value
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
    const pending = await readFile(join(at.state, 'pending'))
    expect(await at.update('rugix')).toMatchObject({
      code: 1,
      err: 'the device came back with the system that it had before\n',
      notes: ['rugix-ctrl system info'],
    })
    expect(lastStatus(hub)).toMatchObject({ state: 'failed', failureCount: 1 })
    // As after the same update once more.
    await writeFile(join(at.state, 'pending'), pending)
    expect(await at.update('rugix')).toMatchObject({ code: 1 })
    expect(lastStatus(hub)).toMatchObject({ state: 'failed', failureCount: 2 })
  },
)

it.skipIf(!hasTools)('a device restarts into what was installed when its reports are lost', async () => {
  await using hub = await hubWithVersion()
  await using at = await device(hub)
  await at.program(
    'rauc',
    'echo "rauc $*" >>"$NOTES"\ncase $1 in install) touch offline ;; *) echo "{\\"booted\\":\\"a\\"}" ;; esac',
  )
  expect(await at.update('rauc')).toMatchObject({
    code: 0,
    notes: ['rauc install http://hub/bundle', 'rauc status --output-format=json', 'reboot '],
  })
})

it.skipIf(!hasTools)(
  'a device that cannot write down what it installed does not restart, and says so',
  async () => {
    await using hub = await hubWithVersion()
    await using at = await device(hub)
    await at.takeRoom('pending')
    await at.takeRoom('failures')
    expect((await at.update('rauc')).notes).not.toContain('reboot ')
    expect(lastStatus(hub)).toMatchObject({ state: 'failed', lastError: expect.stringMatching(DISK_FULL) })
  },
)

it.skipIf(!hasTools)('a tag that is not there is told, and counted', async () => {
  await using hub = await hubWithVersion()
  await using at = await device(hub)
  hub.answers.devices_GetProperty = '{"result":"Found","value":{"path":"fleet/pump/misspelt"}}'
  hub.answers.repositories_ResolveVersionByPath = '{"result":"NotFound"}'
  for (const failureCount of [1, 2]) {
    expect(await at.update('rauc')).toMatchObject({ code: 1, notes: [] })
    expect(lastStatus(hub)).toMatchObject({
      config: { path: 'fleet/pump/misspelt' },
      state: 'failed',
      failureCount,
      lastError: 'there is no version fleet/pump/misspelt, or the hub cannot be asked',
    })
  }
})

/** A device and its hub with a version whose file can be downloaded. */
async function withFile() {
  const hub = await hubWithVersion()
  const at = await device(hub)
  await writeFile(at.image, 'the image')
  hub.answers.repositories_IssueAssetDownloadUrl = JSON.stringify({ url: `file://${at.image}` })
  const asset = {
    filename: 'image.raw',
    assetId: `repo_a_${'3'.repeat(22)}`,
    size: 9,
    digest: `sha256_${createHash('sha256').update('the image').digest('hex')}`,
  }
  hub.answers.repositories_GetVersionDetails = JSON.stringify({
    versionId: VERSION,
    assets: [asset],
    metadata: { imageVersion: '2.0.0' },
  })
  return {
    hub,
    at,
    async [Symbol.asyncDispose]() {
      await at[Symbol.asyncDispose]()
      await hub[Symbol.asyncDispose]()
    },
  }
}

it.skipIf(!hasCurl)('a file is downloaded, verified, and installed under its name', async () => {
  await using both = await withFile()
  const { hub, at } = both
  expect(await at.updateFile()).toEqual({ code: 0, err: '', notes: ['install the image 2.0.0 image.raw'] })
  expect(states(hub)).toEqual(['installing', 'completed'])
})

it.skipIf(!hasTools)('a download that fills the disk is told, and deleted', async () => {
  await using both = await withFile()
  const { hub, at } = both
  await at.program('curl', 'printf half >state/download\nexit 23')
  const { code, err, notes } = await at.updateFile()
  expect({ code, notes }).toEqual({ code: 1, notes: [] })
  expect(err).toMatch(DISK_FULL)
  expect(lastStatus(hub)).toMatchObject({
    state: 'failed',
    lastError: expect.stringMatching(/the download needs 9 bytes$/),
  })
  expect(await readdir(at.state)).not.toContain('download')
})

it.skipIf(!hasCurl)('a full disk keeps no failure and no success from the hub', async () => {
  await using both = await withFile()
  const { hub, at } = both
  await at.takeRoom('failures')
  await at.takeRoom('installed')
  await at.program('install', 'exit 7')
  expect(await at.updateFile()).toMatchObject({ code: 1 })
  expect(lastStatus(hub)).toMatchObject({ state: 'failed', lastError: 'the installer ended with 7' })
  await at.program('install', 'true')
  expect(await at.updateFile()).toMatchObject({ code: 0, err: expect.stringContaining('the disk is full') })
  expect(lastStatus(hub)).toMatchObject({ state: 'completed', currentVersion: '2.0.0' })
})

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
