import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as passing } from 'node:timers/promises'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { createLog } from '@muster/hub/log'
import { connectDevice, until } from '@muster/testkit'
import { expect, it } from 'vitest'
import { firstToken, type HubChild, newFolder, signedIn, startedHub } from './hub-child.ts'

const INSTANCE_KEY = 'ab'.repeat(32)
/** Deadline, in milliseconds, for showing the devices of a dead node as disconnected. */
const DEAD_WITHIN_MS = 30_000

it('nodes are killed, frozen and stopped, and the others go on', { timeout: 240_000 }, async () => {
  await using folder = await newFolder()
  const base = join(folder.path, 'database')
  const files = join(folder.path, 'files')
  await mkdir(base, { mode: 0o755 })
  await mkdir(files)
  await using database = await startEmbeddedDatabase(base, createLog('error'))
  const { host, user, password, database: name } = database.access.owner as Record<string, string>
  const node = async (nodeName: string): Promise<HubChild> => {
    const dataDir = join(folder.path, nodeName)
    await mkdir(dataDir)
    await symlink(files, join(dataDir, 'blobs'))
    return startedHub({
      dataDir,
      env: {
        MUSTER_DATABASE_URL: `postgresql://${user}:${password}@${encodeURIComponent(host!)}/${name}`,
        MUSTER_INSTANCE_KEY: INSTANCE_KEY,
        MUSTER_NODE_NAME: nodeName,
        MUSTER_DRAIN_SECS: '2',
      },
    })
  }
  await using survivor = await node('survivor')
  await using killed = await node('killed')
  await using frozen = await node('frozen')
  const token = firstToken(survivor)
  const invoke = await signedIn(survivor)
  // Devices wait 60 s for a Pong instead of the usual 15 s. Otherwise, devices of the frozen node would sometimes end their links before
  // the node continues.
  const link = { pongTimeoutMs: 60_000 }
  const connected = async (of: HubChild) =>
    Promise.all(Array.from({ length: 3 }, () => connectDevice({ url: of.url, token, link })))
  const isShown = async (deviceId: string) => (await invoke('devices_GetDetails', { deviceId })).isConnected
  const lost = await connected(killed)
  const stopped = await connected(frozen)

  killed.kill('SIGKILL')
  frozen.kill('SIGSTOP')
  const fromMs = performance.now()
  const [revoked, other] = stopped
  const stale = revoked!.invoke('devices_SetProperty', {
    deviceId: revoked!.deviceId,
    name: 'stale',
    value: 1,
  })
  stale.catch(() => {})
  await until(
    'their devices are shown as disconnected',
    async () => {
      const shown = await Promise.all([...lost, ...stopped].map(({ deviceId }) => isShown(deviceId)))
      return !shown.includes(true)
    },
    DEAD_WITHIN_MS,
  )
  process.stdout.write(`shown as disconnected after ${Math.round(performance.now() - fromMs)} ms\n`)
  const marked = await until('both are logged', () => {
    const lines = survivor.logged('another node was marked as dead')
    return lines.length === 2 && lines
  })
  expect(marked.map(line => [line.name, line.endedConnections]).sort()).toEqual([
    ['frozen', 3],
    ['killed', 3],
  ])
  const { formerNodes } = await invoke('cluster_GetDetails', {})
  expect(formerNodes.map(({ state }) => state)).toEqual(['Dead', 'Dead'])
  for (const { identity } of lost) await connectDevice({ url: survivor.url, token, identity })

  const { certificates } = await invoke('devices_GetDetails', { deviceId: revoked!.deviceId })
  const { certificateId } = certificates[0]!
  await invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
  frozen.kill('SIGCONT')
  const evicted = { kind: 'PeerClose', reason: 'the hub node was out of reach for too long' }
  // The node may read the revocation before it notices that the others have marked it as dead. Then it ends the link for that reason.
  const refused = { kind: 'PeerClose', reason: 'certificate or token is no longer valid' }
  expect([evicted, refused]).toContainEqual(await revoked!.link.ended)
  for (const { link } of stopped.slice(1)) expect(await link.ended).toEqual(evicted)
  await expect(stale).rejects.toThrow()
  const { properties } = await invoke('devices_QueryProperties', { deviceId: revoked!.deviceId })
  expect(properties).toEqual({})
  await expect(connectDevice({ url: frozen.url, token, identity: revoked!.identity })).rejects.toThrow()
  await using returned = await connectDevice({ url: frozen.url, token, identity: other!.identity })
  expect(await isShown(returned.deviceId)).toBe(true)
  expect((await fetch(`${frozen.url}/readyz`)).status).toBe(200)

  frozen.kill('SIGTERM')
  expect(await Promise.race([frozen.exited, passing(20_000)])).toEqual({ code: 0, signal: null })
  expect(await returned.link.ended).toEqual({ kind: 'PeerClose', reason: 'the hub is shutting down' })
  const { connections } = await invoke('devices_QueryConnections', { deviceId: returned.deviceId })
  expect(connections.map(({ endReason }) => endReason)).toEqual(['ServerShutdown', 'NodeCrashed'])

  await until('the survivor knows that it is alone', async () => {
    const { nodes } = await invoke('cluster_GetDetails', {})
    return nodes.length === 1
  })
  survivor.kill('SIGTERM')
  expect(await survivor.exited).toEqual({ code: 0, signal: null })
  expect(survivor.logged('other nodes take the devices')).toEqual([])
})
