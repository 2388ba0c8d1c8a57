import { newDatedId } from '@muster/actions'
import type { FakeDeviceOptions } from '../fake-device.ts'
import type { Age } from './peer.ts'
import { type PublicAgent, publicAgent } from './public-agent.ts'
import type { PublicUpdate } from './public-update.ts'

type ReplayOptions = Pick<FakeDeviceOptions, 'url' | 'token' | 'identity' | 'tls'> & {
  age: Age
  update: PublicUpdate
}

/**
 * Replays the calls of a device with published Nexigon software over real links: the start of the agent service, each one-shot
 * command, and the update scripts (docs/protocol.md 3.7, 3.8, 9). Rejects when the hub refuses a call, or answers with a value that would
 * stop a script.
 */
export type DeviceReplay = AsyncDisposable & {
  agent: PublicAgent
  /** Runs each one-shot command once. */
  oneShots(): Promise<void>
  /** Runs the update script up to the reboot: finds the update, downloads the bundle and reports. */
  install(): Promise<void>
  /** Runs the update script after the reboot: commits the update and reports. */
  commit(): Promise<void>
  /** Runs the update script when no newer version exists. */
  check(): Promise<void>
}

type Run = (action: string, input: object) => Promise<unknown>

/** Name of the property with the update configuration. The update scripts changed it on 2026-01-26. */
const OTA_CONFIG: Record<Age, string> = {
  '2025': 'org.rugix.ota.config',
  '2026': 'dev.nexigon.ota.config',
}
const OTA_CATEGORY: Record<Age, string> = { '2025': 'org.rugix.ota', '2026': 'ota' }
const OTA_STATUS = 'dev.nexigon.ota.status'
const OLD_VERSION = '1.0.0'

/**
 * Starts the agent service of a device with published Nexigon software. The returned functions run the one-shot commands and
 * the update scripts.
 */
export async function deviceReplay({ age, update, ...options }: ReplayOptions): Promise<DeviceReplay> {
  const agent = await publicAgent({ age, ...options })
  await agent.started
  let current = OLD_VERSION
  let status: Record<string, unknown> = {}

  const getProperty = async (name: string): Promise<unknown> => {
    const found = (await agent.oneShot('devices_GetProperty', { name })) as Answer
    return expectResult(found, 'Found', 'NotFound').result === 'Found' ? found.value : undefined
  }
  const setProperty = async (name: string, value: unknown): Promise<void> => {
    expectResult(await agent.oneShot('devices_SetProperty', { name, value }), 'Set')
  }
  const emit = async (body: unknown, attributes: object = {}, severity = 'Info'): Promise<void> => {
    const at = new Date()
    const event = { eventId: newDatedId('d_ev', at), category: OTA_CATEGORY[age], severity, body, attributes }
    await agent.oneShot('devices_PublishEvents', { events: [{ ...event, emittedAt: at.toISOString() }] })
  }
  const setStatus = (changes: object): Promise<void> => {
    status = { ...status, ...changes }
    return setProperty(OTA_STATUS, status)
  }
  /** Downloads a file as the update scripts do, with the URL from the agent's one-shot command `repositories issue-url PATH`. */
  const download = async (filename: string): Promise<Buffer> => {
    const [repository, pkg, tag] = update.path.split('/')
    const { url } = await agent.command(async run => {
      const path = { repository, package: pkg, tag, filename }
      const found = expectResult(await run('repositories_ResolveVersionAssetByPath', path), 'Found')
      return (await run('repositories_IssueAssetDownloadUrl', { assetId: found.assetId })) as { url: string }
    })
    const response = await fetch(url)
    if (response.status !== 200)
      throw new Error(`the download of ${filename} was answered ${response.status}`)
    return Buffer.from(await response.arrayBuffer())
  }
  /** Runs the first steps that all update scripts have in common. */
  async function begin(): Promise<void> {
    await getProperty(OTA_CONFIG[age])
    const stored = (await getProperty(OTA_STATUS)) as Record<string, unknown> | undefined
    status = { ...stored, currentVersion: current }
    if (age === '2026') await setStatus({ config: { path: update.path } })
    else if (!stored) await setStatus({ active: false })
  }
  /** Version of the image that the tag points to. */
  async function findTarget(): Promise<unknown> {
    await emit('checking for updates', { path: update.path, currentVersion: current })
    if (age === '2025') {
      const info = JSON.parse(String(await download(`${update.system}.build-info.json`)))
      return info.release.version
    }
    const [repository, pkg, tag] = update.path.split('/')
    return agent.command(async (run: Run) => {
      const path = { repository, package: pkg, tag }
      const found = expectResult(await run('repositories_ResolveVersionByPath', path), 'Found')
      const details = await run('repositories_GetVersionDetails', { versionId: found.versionId })
      return (details as { metadata: Record<string, unknown> }).metadata.imageVersion
    })
  }

  return {
    agent,
    async oneShots() {
      await agent.command(async () => {})
      await setProperty('replay.value', { nothing: null })
      if ((await getProperty('replay.value')) === undefined) throw new Error('the property is missing')
      await emit({ any: ['json'] }, { attribute: 1 }, 'Warning')
      await agent.oneShot('devices_IssueDeviceToken', { validForSecs: 60, claims: null })
      await download(`${update.system}.rugixb-hash`)
    },
    async install() {
      await begin()
      const targetVersion = await findTarget()
      if (targetVersion !== update.version) throw new Error(`found version ${targetVersion}`)
      await emit('update available, installing', { currentVersion: current, targetVersion })
      if (age === '2025') await download(`${update.system}.rugixb-hash`)
      await emit('installing update', { activeGroup: 'a', targetGroup: 'b' })
      await setStatus({ state: 'installing', active: true, targetVersion })
      const bundle = await download(`${update.system}.rugixb`)
      if (!bundle.equals(update.bundle)) throw new Error('the bundle differs')
      await emit('update installed, rebooting')
      await setStatus({ state: 'rebooting' })
    },
    async commit() {
      current = update.version
      await begin()
      await emit('committing system', { activeGroup: 'b', defaultGroup: 'a' })
      await setStatus({ state: 'committing' })
      await emit('update completed')
      await setStatus({ state: 'completed', active: false, failureCount: 0, lastError: null })
    },
    async check() {
      await begin()
      if ((await findTarget()) !== current) throw new Error('found a newer version')
      await emit('no update available', { currentVersion: current })
      await setStatus({ state: 'completed', targetVersion: null })
    },
    [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
  }
}

/**
 * Replays the whole sequence: the agent starts and runs its one-shot commands (one action, then exit), installs and commits an update, and
 * then finds no newer version.
 */
export async function replayDevice(options: ReplayOptions): Promise<void> {
  await using replay = await deviceReplay(options)
  await replay.oneShots()
  await replay.install()
  await replay.commit()
  await replay.check()
}

type Answer = Record<string, unknown>

function expectResult(answer: unknown, ...expected: string[]): Answer {
  const { result } = answer as Answer
  if (!expected.includes(String(result)))
    throw new Error(`found ${result}, expected ${expected.join(' or ')}`)
  return answer as Answer
}
