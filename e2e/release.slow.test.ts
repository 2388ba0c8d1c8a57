import { execFile, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { chmod, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { type CuttingProxy, cuttingProxy, type Muster, muster } from '@muster/testkit'
import { hasPrograms } from '@muster/testkit/programs'
import { until } from '@muster/testkit/until'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startAgent } from './agent-child.ts'
import { firstToken, newFolder } from './hub-child.ts'
import { expectGoodScreen, invoke, openStage, organizationOf, type Stage, signIn } from './people.ts'

const MIB = 1024 * 1024
/** Size of the update image in bytes, like that of a real image. */
const IMAGE_BYTES = 1024 * MIB
const ROOT = join(import.meta.dirname, '..')
/** Timeout in milliseconds for downloading, hashing and installing a gigabyte. */
const PATIENCE_MS = 300_000

/** Defines a test that is skipped if programs which the update script needs are missing. */
const scenario = it.skipIf(!hasPrograms('jq', 'curl'))

let stage: Stage
let page: Page
/** Proxy in front of the hub's files, which can interrupt a download. */
let proxy: CuttingProxy
/** The command-line client that makes the releases. */
let cli: Muster
/** Folder on this machine that represents the file system of the device. */
let device: string
let organizationId: string
let projectId: string
let deviceId: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  proxy = resources.use(await cuttingProxy())
  stage = resources.use(await openStage({ MUSTER_PUBLIC_URL: proxy.url }))
  proxy.leadTo(stage.hub.port)
  page = await stage.newPage()
  await signIn(page, stage, stage.admin)
  organizationId = await organizationOf(page)
  const { actor } = await invoke(page, 'actor_GetActor', {})
  if (actor.actor !== 'User') throw new Error(`signed in as ${actor.actor}`)
  const { token } = await invoke(page, 'users_CreateToken', { userId: actor.userId, name: 'releases' })
  cli = resources.use(await muster({ MUSTER_HUB: stage.hub.url, MUSTER_TOKEN: token }))
  device = resources.use(await newFolder()).path
  const config = await deviceFiles()
  const agent = resources.use(startAgent(['run', '--config', config], join(device, 'muster-agent')))
  const devices = await until(
    'the device has connected',
    async () => {
      const [project] = await cli.json<{ projectId: string }[]>('projects', 'list')
      projectId = project!.projectId
      const found = await cli.json<{ deviceId: string }[]>('projects', 'devices', 'list', projectId)
      return found.length > 0 && found
    },
    60_000,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${agent.output()}`)
  })
  deviceId = devices[0]!.deviceId
})

afterAll(() => resources.disposeAsync())

/** Creates the packed agent, its configuration and an installer as on a device. Returns the path of the configuration file. */
async function deviceFiles(): Promise<string> {
  const config = join(device, 'agent.toml')
  await writeFile(
    config,
    [
      `hub-url = "${stage.hub.url}"`,
      `token = "${firstToken(stage.hub)}"`,
      'fingerprint-script = "fingerprint"',
      'ssl-cert = "cert.pem"',
      'ssl-key = "key.pem"',
      'data-path = "data"',
      'dangerous-allow-plaintext = true',
      '',
    ].join('\n'),
  )
  await program('fingerprint', 'echo pump-7')
  await promisify(execFile)(process.execPath, [join(ROOT, 'tools/package.ts'), device])
  await program('agent', `exec "${process.execPath}" "${device}/muster-agent" "$@" --config "${config}"`)
  // The installer waits for the file `go`, so that tests can check the device during an installation.
  await program(
    'install',
    'until [ -f go ]; do sleep 0.1; done; rm go; [ "$2" != 2.0.0-broken ] || exit 7; cp "$1" installed',
  )
  return config
}

async function program(name: string, text: string): Promise<void> {
  const path = join(device, name)
  await writeFile(path, `#!/bin/sh\n${text}\n`)
  await chmod(path, 0o755)
}

/** Runs the update script as its systemd timer does. Resolves to its exit code and its standard error. */
async function update(): Promise<{ code: number; err: string }> {
  const child = spawn(join(ROOT, 'apps/agent/examples/ota/ota-file'), {
    cwd: device,
    env: {
      PATH: process.env.PATH,
      MUSTER_AGENT: join(device, 'agent'),
      OTA_INSTALL: join(device, 'install'),
      OTA_STATE_FOLDER: join(device, 'state'),
      OTA_PAUSE_SECS: '0',
    },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const [err] = await Promise.all([text(child.stderr), once(child, 'close')])
  return { code: child.exitCode!, err }
}

/** Creates a file of random bytes in the folder of the command-line client and returns its SHA-256 digest. */
async function newImage(name: string, bytes: number): Promise<string> {
  await using file = await open(join(cli.folder, name), 'w')
  for (let at = 0; at < bytes; at += MIB) await file.write(randomBytes(Math.min(MIB, bytes - at)))
  return sha256Of(join(cli.folder, name))
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** Lets the installer on the device continue. */
const continueInstall = () => writeFile(join(device, 'go'), '')

const otaSection = () => page.getByRole('region', { name: 'OTA Update Status' })

/** Creates a version, uploads its file and only then moves the tag `stable`, as docs/releasing.md describes. */
async function release(version: string, file: string): Promise<void> {
  await cli.json('versions', 'create', 'fleet/pump', '--name', version, '--tag', `${version},locked`)
  await cli.json('assets', 'upload', `fleet/pump/${version}`, file)
  await cli.json('versions', 'tag', `fleet/pump/${version}`, '--tag', 'stable,reassign')
}

async function openDevice(): Promise<void> {
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices/${deviceId}`)
  await otaSection().waitFor()
}

scenario(
  'a release is made with the command line: repository, package, version with a file, tag',
  async () => {
    await cli.json('repositories', 'create', organizationId, 'fleet')
    await cli.json('packages', 'create', 'fleet', 'pump')
    await newImage('image.raw', IMAGE_BYTES)
    await release('1.0.0', 'image.raw')
    expect(await cli.json('versions', 'resolve', 'fleet/pump/stable')).toMatchObject({ result: 'Found' })
  },
)

scenario('a release is not found by devices of a project that is not linked to its repository', async () => {
  const path = JSON.stringify({ path: 'fleet/pump/stable' })
  await cli.json('devices', 'properties', 'set', deviceId, 'dev.nexigon.ota.config', path)
  const { code, err } = await update()
  expect(code).toBe(1)
  expect(err).toContain('is not linked to the project of this device')
})

scenario(
  'a release is downloaded in ranges and verified by a device of a linked project, and the console shows each step',
  async () => {
    await cli.json('projects', 'repositories', 'link', projectId, 'fleet')
    await openDevice()
    const before = proxy.carried.down
    proxy.cutOnce('down', IMAGE_BYTES / 2)
    const updated = update()
    await otaSection().getByText('INSTALLING', { exact: true }).waitFor({ timeout: PATIENCE_MS })
    await otaSection().getByText('1.0.0', { exact: true }).waitFor()
    await expectGoodScreen(page, 'release-installing')
    await continueInstall()
    expect(await updated).toMatchObject({ code: 0 })
    await otaSection().getByText('COMPLETED', { exact: true }).waitFor({ timeout: PATIENCE_MS })
    await expect.poll(() => otaSection().getByText('1.0.0', { exact: true }).count()).toBe(2)
    await page.getByText('update completed').first().waitFor()
    expect(await sha256Of(join(device, 'installed'))).toBe(await sha256Of(join(cli.folder, 'image.raw')))
    expect(proxy.carried.cuts).toBe(1)
    // The download resumed after the interruption. Starting over would have transferred half of the image again.
    expect(proxy.carried.down - before).toBeLessThan(IMAGE_BYTES * 1.25)
  },
)

scenario('a release is not installed twice', async () => {
  const before = proxy.carried.down
  expect(await update()).toEqual({ code: 0, err: '' })
  expect(proxy.carried.down - before).toBeLessThan(MIB)
})

scenario('the fleet is updated when the tag moves', async () => {
  const digest = await newImage('image.raw', 3 * MIB)
  await release('2.0.0', 'image.raw')
  await continueInstall()
  expect(await update()).toMatchObject({ code: 0 })
  expect(await sha256Of(join(device, 'installed'))).toBe(digest)
  await expect
    .poll(() => otaSection().getByText('2.0.0', { exact: true }).count(), { timeout: PATIENCE_MS })
    .toBe(2)
})

scenario('a failed installation is reported, and the device keeps its version', async () => {
  const digest = await sha256Of(join(device, 'installed'))
  await newImage('broken.raw', MIB)
  await release('2.0.0-broken', 'broken.raw')
  await continueInstall()
  expect(await update()).toEqual({ code: 1, err: 'the installer ended with 7\n' })
  await otaSection().getByText('FAILED', { exact: true }).waitFor({ timeout: PATIENCE_MS })
  await otaSection().getByText('2.0.0', { exact: true }).waitFor()
  expect(await sha256Of(join(device, 'installed'))).toBe(digest)
  const status = await cli.run(['devices', 'properties', 'get', deviceId, 'dev.nexigon.ota.status'])
  expect(JSON.parse(status.out)).toMatchObject({
    state: 'failed',
    currentVersion: '2.0.0',
    targetVersion: '2.0.0-broken',
    failureCount: 1,
    lastError: 'the installer ended with 7',
  })
})

scenario('the fleet is downgraded when the tag moves back, but a locked tag cannot be moved', async () => {
  await cli.json('versions', 'tag', 'fleet/pump/2.0.0', '--tag', 'stable,reassign')
  expect(await update()).toMatchObject({ code: 0 })
  await otaSection().getByText('COMPLETED', { exact: true }).waitFor({ timeout: PATIENCE_MS })
  const moved = await cli.run(['versions', 'tag', 'fleet/pump/2.0.0', '--tag', '1.0.0,reassign'])
  expect(moved).toMatchObject({ code: 1, err: expect.stringContaining('locked') })

  await page.goto(`${stage.hub.url}/${organizationId}/repositories`)
  await page.getByRole('link', { name: 'fleet', exact: true }).click()
  await page.getByRole('link', { name: 'pump', exact: true }).click()
  const row = page.getByRole('row').filter({ hasText: '2.0.0 locked' })
  await row.getByText('stable', { exact: true }).waitFor()
  await page.getByRole('row').getByText('1.0.0 locked', { exact: true }).waitFor()
  await expectGoodScreen(page, 'release-versions')
})

scenario('no browser console has an error', () => {
  expect(stage.faults).toEqual([])
})
