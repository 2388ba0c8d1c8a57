import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { until } from '@muster/testkit'
import { hasPrograms, PROGRAMS } from '@muster/testkit/programs'
import { expect, it } from 'vitest'
import { FakeHub } from './testing/fake-hub.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

const EXAMPLES = join(import.meta.dirname, '../examples')
const hasTools = hasPrograms('jq')
const hasCurl = hasPrograms('jq', 'curl')
const DISK_FULL = /^the disk is full/
/** Programs that the OTA example scripts need, besides the agent and the update tools. */
const TOOLS =
  'sh cat cut curl dirname basename jq ln mkdir mv readlink rm sed sha256sum sleep touch wc'.split(' ')
const programPath = (name: string) => ['/usr/bin', '/bin'].map(folder => join(folder, name)).find(existsSync)!
const BUSY = 'Another run of the update is in progress; this one does nothing.\n'
const VERSION = `pkg_v_${'2'.repeat(22)}`

/** Creates a device whose update tools are stubs that record their arguments. */
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
  // The agent fails, as with an unreachable hub, while a file named "offline" exists.
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
        // Each run has a new boot id, as after a reboot, unless the test passes an id.
        OTA_BOOT_ID: randomUUID(),
        ...env,
      },
    })
    const [err] = await Promise.all([text(child.stderr), new Promise(done => child.once('close', done))])
    return { code: child.exitCode, err, notes: (await readFile(notes, 'utf8')).split('\n').filter(Boolean) }
  }
  return {
    program,
    image: join(folder.path, 'image'),
    /** Folder of the scripts' state. */
    state: join(folder.path, 'state'),
    /** Makes storing the state file `name` fail, as on a full disk. */
    takeRoom: (name: string) => mkdir(join(folder.path, 'state', `${name}.new`), { recursive: true }),
    /** Selects the system partition from which the device is running. */
    startFrom: (slot: string) => writeFile(join(folder.path, 'slot'), slot),
    update: (tool: string, env = {}) => run('ota-bundle', { OTA_TOOL: tool, ...env }),
    updateFile: (env = {}) =>
      run('ota-file', { OTA_INSTALL: join(bin, 'install'), OTA_PAUSE_SECS: '0', ...env }),
    /** Returns a PATH with all programs that the scripts need, except flock. */
    async withoutFlock(): Promise<string> {
      const tools = join(folder.path, 'tools')
      await mkdir(tools)
      for (const name of TOOLS) await symlink(programPath(name), join(tools, name))
      return `${bin}:${tools}`
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

/** Starts a fake hub on which the device's update path resolves to a package version with one file. */
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

it.skipIf(!hasTools)(
  'a bundle is installed by RAUC, and is committed once the device runs from it',
  async () => {
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
  },
)

it.skipIf(!hasTools)(
  'a device whose updater does not report the running system commits nothing',
  async () => {
    await using hub = await hubWithVersion()
    await using at = await device(hub)
    expect(await at.update('rauc')).toMatchObject({ code: 0 })
    await at.startFrom('')
    expect(await at.update('rauc')).toMatchObject({
      code: 1,
      err: 'rauc does not report the running system\n',
      notes: ['rauc status --output-format=json'],
    })
    await at.startFrom('b')
    expect((await at.update('rauc')).notes).toEqual([
      'rauc status --output-format=json',
      'rauc status mark-good',
    ])
  },
)

it.skipIf(!hasTools)('a device that cannot read its configured path does nothing', async () => {
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
  'a bundle is installed by Rugix by its hash, and a device that falls back reports it',
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
    // Writes the removed state file back, as if the same update had been installed again. The device runs the old system again, which
    // counts as a second failure.
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

it.skipIf(!hasTools)('a device that cannot store its state does not restart, and reports it', async () => {
  await using hub = await hubWithVersion()
  await using at = await device(hub)
  await at.takeRoom('pending')
  await at.takeRoom('failures')
  expect((await at.update('rauc')).notes).not.toContain('reboot ')
  expect(lastStatus(hub)).toMatchObject({ state: 'failed', lastError: expect.stringMatching(DISK_FULL) })
})

it.skipIf(!hasTools)('an unknown tag is reported and counted', async () => {
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

/** Starts a fake hub with a version whose file can be downloaded, and creates a device. */
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

it.skipIf(!hasCurl).each(['flock', 'a link'])(
  'three runs at once install once, with %s as the lock',
  async lock => {
    await using both = await withFile()
    const { hub, at } = both
    // The installer of the first run waits for the file `done`, which the test writes after two further runs have ended.
    await at.program('install', 'echo "install $2" >>"$NOTES"\nwhile [ ! -f done ]; do sleep 0.1; done')
    const boot = { OTA_BOOT_ID: randomUUID() }
    const env = lock === 'flock' ? boot : { ...boot, PATH: await at.withoutFlock() }
    const first = at.updateFile({ ...env, NOTES: `${at.state}-notes` })
    await until('it installs', () => existsSync(`${at.state}-notes`))
    for (let n = 0; n < 2; n++) expect(await at.updateFile(env)).toEqual({ code: 75, err: BUSY, notes: [] })
    expect(states(hub)).toEqual(['installing'])
    await writeFile(`${at.state}/../done`, '')
    expect(await first).toMatchObject({ code: 0, err: '' })
    expect(await readFile(`${at.state}-notes`, 'utf8')).toBe('install 2.0.0\n')
    expect(states(hub)).toEqual(['installing', 'completed'])
    // The lock is free again, so the run succeeds. It installs nothing, because the version is already installed.
    expect(await at.updateFile(env)).toMatchObject({ code: 0, err: '', notes: [] })
  },
)

it.skipIf(!hasCurl).each([
  ['from an earlier boot', `1 1 ${randomUUID()}`],
  ['that has exited', '4194304 1 boot'],
])('a run takes over the lock of an owner %s', async (_what, owner) => {
  await using both = await withFile()
  const { at } = both
  await mkdir(at.state)
  await symlink(owner, join(at.state, 'owner'))
  const env = { PATH: await at.withoutFlock() }
  expect(await at.updateFile(env)).toMatchObject({ code: 0, notes: ['install the image 2.0.0 image.raw'] })
  await expect(readlink(join(at.state, 'owner'))).rejects.toThrow('ENOENT')
})

it.skipIf(!hasTools)('a run before the restart into the installed system does nothing', async () => {
  await using hub = await hubWithVersion()
  await using at = await device(hub)
  const env = { OTA_BOOT_ID: randomUUID() }
  expect((await at.update('rauc', env)).notes).toContain('reboot ')
  expect(await at.update('rauc', env)).toEqual({
    code: 75,
    err: 'The update is installed; the device is about to restart.\n',
    notes: [],
  })
  await at.startFrom('b')
  expect(await at.update('rauc')).toMatchObject({ code: 0 })
  expect(states(hub)).not.toContain('failed')
})

it.skipIf(!hasTools)('a download that fills the disk is reported and deleted', async () => {
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

it.skipIf(!hasCurl)('failures and successes are reported even with a full disk', async () => {
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

it.skipIf(!hasPrograms('systemd-analyze'))('systemd accepts the units', async () => {
  await using folder = await temporaryFolder()
  const units = (await readdir(EXAMPLES, { recursive: true })).filter(name => /\.(service|timer)$/.test(name))
  expect(units).toHaveLength(3)
  for (const unit of units) {
    const lines = await readFile(join(EXAMPLES, unit), 'utf8')
    // systemd-analyze fails if a program of `ExecStart` is missing. These programs are not installed on the test machine, so
    // /bin/true stands in.
    await writeFile(
      join(folder.path, unit.split('/').at(-1)!),
      lines.replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true'),
    )
  }
  const files = (await readdir(folder.path)).map(name => join(folder.path, name))
  const { status, stderr } = spawnSync(PROGRAMS['systemd-analyze'].path, ['verify', '--man=no', ...files], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})
