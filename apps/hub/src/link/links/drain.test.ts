import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { newId } from '@muster/actions'
import { connectDevice, deviceIdentity, secondNode, testHub, until } from '@muster/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { openPort } from './registry.ts'

const hub = await testHub({ nodeName: 'first' })
afterAll(() => hub[Symbol.asyncDispose]())

const NEVER = new AbortController().signal
const REASON = 'the hub is shutting down'
const TOKEN = 'an-operator-token-of-32-characters'

/** Sends a request over a keep-alive connection. */
async function askKept(
  agent: Agent,
  url: string,
): Promise<{ status: number; body: string; connection?: string }> {
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage]
  const body = (await response.toArray()).join('')
  const { connection } = response.headers
  return { status: response.statusCode!, body, ...(connection !== undefined && { connection }) }
}

describe('a node that stops while another one is alive', () => {
  it('is not ready, refuses devices, and hands its own over in portions, the busy ones last', async () => {
    const { owner, token } = await hub.fleet()
    const second = await secondNode(hub, { drainSecs: 10, operatorPort: 0, operatorToken: TOKEN })
    const operator = async (path: string): Promise<string> => {
      const url = `http://127.0.0.1:${second.operatorPort}${path}`
      return (await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } })).text()
    }
    const busy = await connectDevice({
      url: second.url,
      token,
      link: { onRequest: request => void request.accept() },
    })
    const idle = await Promise.all(Array.from({ length: 8 }, () => connectDevice({ url: second.url, token })))
    const devices = [busy, ...idle]
    await openPort(second.devices.get(busy.deviceId)!, 80)
    const gone: { deviceId: string; atMs: number }[] = []
    for (const { deviceId, link } of devices)
      void link.ended.then(() => gone.push({ deviceId, atMs: performance.now() }))

    using agent = Object.assign(new Agent({ keepAlive: true }), {
      [Symbol.dispose]: () => agent.destroy(),
    })
    const identity = await deviceIdentity()
    const drained = second.drain(NEVER)
    const notReady = await until('it is not ready', async () => {
      const answer = await askKept(agent, `${second.url}/readyz`)
      return answer.status === 503 && answer
    })
    expect(notReady).toMatchObject({
      body: '{"status":"not ready","reason":"draining"}',
      connection: 'close',
    })
    await expect(connectDevice({ url: second.url, token, identity })).rejects.toMatchObject({
      status: 503,
    })
    const shown = await owner.invoke('devices_GetDetails', { deviceId: busy.deviceId })
    expect(shown.isConnected).toBe(true)
    await drained
    expect(JSON.parse(await operator('/health'))).toEqual({ state: 'draining', isReady: false, reasons: [] })
    expect(await operator('/metrics')).toMatch(
      /^muster_health\{state="ready"\} 0\n.*^muster_health\{state="draining"\} 1\n.*^muster_ready 0$/ms,
    )

    expect(gone.map(({ deviceId }) => deviceId).at(-1)).toBe(busy.deviceId)
    expect(gone.at(-1)!.atMs - gone[0]!.atMs).toBeGreaterThan(500)
    for (const { link } of devices) expect(await link.ended).toEqual({ kind: 'PeerClose', reason: REASON })
    await until('their ends are recorded', async () => {
      const ends = await hub.db
        .selectFrom('device_connection as c')
        .innerJoin('device as d', 'd.device_id', 'c.device_id')
        .where('c.node_id', '=', second.nodeId)
        .select(['c.end_reason', 'd.is_connected'])
        .execute()
      return ends.every(end => end.end_reason === 'ServerShutdown' && !end.is_connected)
    })
    await expect(fetch(`${second.url}/healthz`)).rejects.toThrow()
    await second[Symbol.asyncDispose]()
  })

  it('finishes a slow request in flight after its listeners have closed', async () => {
    const { owner, projectId } = await hub.fleet()
    const second = await secondNode(hub, { drainSecs: 1 })
    const [isLocked, mayGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const locking = hub.db.transaction().execute(async tx => {
      const project = tx.selectFrom('project').where('project_id', '=', projectId)
      // Jobs that store a row of the project do not wait for this lock, so only the request below does.
      await project.forNoKeyUpdate().select('project_id').execute()
      isLocked.resolve()
      await mayGo.promise
    })
    await isLocked.promise
    const answered = fetch(`${second.url}/api/v1/actions/invoke/projects_SetName`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: owner.cookie, origin: second.url },
      body: JSON.stringify({ projectId, name: 'Renamed meanwhile' }),
    })
    await until('the request waits for the lock', async () => {
      const { rows } = await hub.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length > 0
    })
    const drained = second.drain(NEVER)
    await until('it does not listen', async () => !(await fetch(`${second.url}/healthz`).catch(() => false)))
    await drained
    // From here the node waits 5 s for the request, so the test lets it go at once.
    const stopped = second[Symbol.asyncDispose]()
    mayGo.resolve()
    await locking
    expect(await (await answered).text()).toBe('{}')
    await stopped
    const { name } = await owner.invoke('projects_GetDetails', { projectId })
    expect(name).toBe('Renamed meanwhile')
  })

  it('stops waiting when it is told to hurry', async () => {
    await using second = await secondNode(hub, { drainSecs: 600 })
    const hurry = new AbortController()
    const drained = second.drain(hurry.signal)
    await until('it drains', async () => (await second.readiness.state()).status === 'not ready')
    hurry.abort()
    await drained
  })
})

it('a node whose only successor goes stops waiting', async () => {
  await using alone = await testHub({ drainSecs: 600, heartbeatMs: 250 })
  const { token } = await alone.fleet()
  await using _device = await connectDevice({ url: alone.url, token })
  await alone.db
    .insertInto('cluster_node')
    .values({
      node_id: newId('cluster_node'),
      name: 'other',
      last_heartbeat: new Date(Date.now() + 3_600_000),
    })
    .execute()
  const drained = alone.drain(NEVER)
  await until('it drains', async () => (await alone.readiness.state()).status === 'not ready')
  await alone.db
    .updateTable('cluster_node')
    .set({ left_at: new Date() })
    .where('name', '=', 'other')
    .execute()
  await drained
})

it('the only node does not wait, and stays ready until it stops', async () => {
  await using alone = await testHub({ drainSecs: 600 })
  const { token } = await alone.fleet()
  await using device = await connectDevice({ url: alone.url, token })
  await alone.drain(NEVER)
  expect(device.link.isOpen).toBe(true)
  expect(await alone.readiness.state()).toEqual({ status: 'ready' })
})
