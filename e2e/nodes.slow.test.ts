// Tests the promises about several nodes (docs/operating.md, "Several nodes") with three hub processes on one PostgreSQL. The proxy in
// front has the configuration that docs/operating.md prints. `npm run bench -- cluster` repeats the tests with 3,000 devices.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '@muster/actions'
import { createLog } from '@muster/hub/log'
import { connectPerson, digestOf, publicAgent, until } from '@muster/testkit'
import { hasPrograms } from '@muster/testkit/programs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { instanceKeyOf } from '../apps/hub/src/credentials/instance-key.ts'
import { nodeLinkKeys } from '../apps/hub/src/node-links/handshake.ts'
import { NodeLink } from '../apps/hub/src/node-links/node-link.ts'
import { startAgent } from './agent-child.ts'
import { launchBrowser } from './browser.ts'
import { consoleUser } from './console-user.ts'
import { deviceAt, echoService, endRights, forwardTo, newMember, streamAt, timeOf } from './ended-rights.ts'
import { newFolder } from './hub-child.ts'
import { type CarrierKind, INSTANCE_KEY, type Nodes, nextBuild, startNodes } from './nodes.ts'
import { connectThrough, StormDevice } from './storm-device.ts'

/** Number of devices that connect through the proxy. */
const DEVICES = 40
/** Number of devices, among the `DEVICES`, that publish an event every `PAUSE_MS`. */
const REPORTING = 20
const PAUSE_MS = 50
/** Time until systemd restarts a published Nexigon agent that has exited, in milliseconds. */
const PUBLIC_PAUSE_MS = 60_000
/** Limits of the promises, in milliseconds (docs/operating.md, "Several nodes"). */
const WITHIN = {
  live: 1_000,
  rights: 1_000,
  rightsPolled: 5_000,
  forwardEnds: 10_000,
  back: 30_000,
  publicBack: 90_000,
}

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'

/** Echo services on the devices: over TCP, and over HTTP. */
let echo: Awaited<ReturnType<typeof echoService>>
const pages = createHttpServer((incoming, response) => void incoming.pipe(response))
beforeAll(async () => {
  echo = await echoService()
  await once(pages.listen(0, '127.0.0.1'), 'listening')
})
afterAll(async () => {
  await echo[Symbol.asyncDispose]()
  pages.close()
  pages.closeAllConnections()
})
const forward = (deviceId: string): string => forwardTo(deviceId, echo.port)
const note = (text: string): void => void process.stdout.write(`${text}\n`)

describe.each([
  ['PostgreSQL', 'nginx'],
  ['NATS', 'haproxy'],
] as const)('three nodes with %s as bus, behind %s', (carrierKind: CarrierKind, program) => {
  const hasAll = hasPrograms(program) && (carrierKind === 'PostgreSQL' || hasPrograms('nats-server'))
  describe.skipIf(!hasAll)('as docs/operating.md describes them', { timeout: 180_000 }, () => {
    let nodes: Nodes
    let publicBackMs: Promise<number>
    beforeAll(async () => {
      nodes = await startNodes(carrierKind, program)
    }, 180_000)
    afterAll(() => nodes?.[Symbol.asyncDispose](), 60_000)

    it('killed, upgraded and stopped, they lose no event and no page, and devices go to the healthy one', async () => {
      await using stack = new AsyncDisposableStack()
      const folder = stack.use(await newFolder())
      const [build, browser] = await Promise.all([nextBuild(folder), launchBrowser()])
      stack.defer(() => browser.close())
      const fleet: StormDevice[] = []
      const connectSome = async (): Promise<void> => {
        for (let n = 0; n < DEVICES / 4; n++)
          fleet.push(stack.use(await StormDevice.connect(nodes.front.url, nodes.token)))
      }
      await Promise.all(Array.from({ length: 4 }, connectSome))
      const reporting = fleet.slice(0, REPORTING)
      const reports = Promise.all(reporting.map(device => device.report(PAUSE_MS)))
      reports.catch(() => {})
      for (const device of fleet) void device.stay()
      const user = await consoleUser(browser, nodes.front.url, nodes.cookie, nodes.project)

      const ours = stack.use(
        startAgent([
          ...['run', '--hub', nodes.front.url, '--token', nodes.token, '--data', folder.path],
          '--dangerous-accept-invalid-certificates',
        ]),
      )
      const agentId = await until('our agent is connected', async () => {
        const { rows } = await nodes.database.query(
          `select device_id from device where is_connected and not (device_id = any($1))`,
          [fleet.map(({ deviceId }) => deviceId)],
        )
        return rows[0]?.device_id as string | undefined
      }).catch((error: Error) => {
        throw new Error(`${error.message}: ${ours.output()}`)
      })
      const lost = await nodes.holderOf(agentId)
      const [entry, last] = [0, 1, 2].filter(node => node !== lost) as [number, number]
      const published = stack.use(
        await publicAgent({ age: '2026', url: nodes.hubs[lost]!.url, token: nodes.token }),
      )
      const line = stack.use(await connectPerson(nodes.hubs[entry]!.url, (await newMember(nodes)).token))
      const channel = await line.open(forward(agentId))
      await channel.write(Buffer.from('hello'))
      expect(Buffer.from((await channel.read())!).toString()).toBe('hello')

      nodes.hubs[lost]!.kill('SIGKILL')
      const killedAtMs = performance.now()
      publicBackMs = (async () => {
        await published.ended
        await sleep(PUBLIC_PAUSE_MS)
        const { certificatePem: cert, keyPem: key } = published.identity
        await using again = await publicAgent({
          age: '2026',
          url: nodes.front.url,
          token: nodes.token,
          identity: published.identity,
          tls: { cert, key: key! },
        })
        await again.started
        return performance.now() - killedAtMs
      })()
      publicBackMs.catch(() => {})
      await channel.read().catch(() => null)
      const endedMs = performance.now() - killedAtMs
      expect(endedMs).toBeLessThan(WITHIN.forwardEnds)
      await until(
        'our agent is reachable elsewhere',
        async () => {
          const again = await line.open(forward(agentId)).catch(() => undefined)
          if (!again) return false
          await again.write(Buffer.from('again'))
          const answer = await again.read().catch(() => null)
          return answer !== null && Buffer.from(answer).toString() === 'again'
        },
        WITHIN.back,
      )
      const agentBackMs = performance.now() - killedAtMs

      // The killed node is restarted as the next release, and then the other nodes stop.
      await nodes.hubs[lost]!.exited
      await nodes.start(lost, build)
      // HAProxy finds a node within a second of its start, nginx with the next request.
      if (program === 'haproxy')
        await until('the proxy sends devices to it', async () => {
          await using device = await connectThrough(nodes.front.url, nodes.token)
          return (await nodes.holderOf(device.deviceId)) === lost
        })
      const stopped = [entry, last].map(node => nodes.hubs[node]!)
      for (const hub of stopped) hub.kill('SIGTERM')
      expect(await Promise.all(stopped.map(hub => hub.exited))).toEqual(
        stopped.map(() => ({ code: 0, signal: null })),
      )
      const onHealthy = await until('all devices are on the healthy node', async () => {
        const { rows } = await nodes.database.query(
          `select count(*)::int as count from device d
             join device_connection c on c.connection_id = d.connection_id and c.ended_at is null
             join cluster_node n on n.node_id = c.node_id and n.left_at is null
            where n.name = $1 and d.device_id = any($2)`,
          [`node-${lost + 1}`, [agentId, ...fleet.map(({ deviceId }) => deviceId)]],
        )
        return rows[0].count === DEVICES + 1 && rows[0].count
      })
      await Promise.all([nodes.start(entry, build), nodes.start(last, build)])

      const counts = reporting.map(({ acknowledged }) => acknowledged.length)
      await until('events are still acknowledged', () =>
        reporting.every(({ acknowledged }, at) => acknowledged.length > counts[at]!),
      )
      for (const device of fleet) device.stop()
      await reports
      const seen = await user.stop()
      const acknowledged = reporting.flatMap(device => device.acknowledged)
      const stored = await nodes.database.query<{ event_id: string }>(
        'select event_id from device_event where device_id = any($1)',
        [reporting.map(({ deviceId }) => deviceId)],
      )
      const ids = new Set(stored.rows.map(({ event_id }) => event_id))
      const absencesMs = fleet.flatMap(device => device.absencesMs)
      note(
        `${carrierKind}: forward ended after ${endedMs.toFixed(0)} ms, our agent back after ${agentBackMs.toFixed(0)} ms; ` +
          `${fleet.length} devices reconnected ${absencesMs.length} times within ${Math.max(...absencesMs).toFixed(0)} ms, ` +
          `${onHealthy} on the healthy node, ${fleet.reduce((sum, { refusals }) => sum + refusals, 0)} refusals; ` +
          `${acknowledged.length} events acknowledged, ${acknowledged.filter(id => !ids.has(id)).length} lost; ` +
          `${seen.loads} pages, ${seen.repeated.length} repeated, ${seen.failed.length} failed`,
      )
      expect(acknowledged.filter(id => !ids.has(id))).toEqual([])
      expect(ids.size).toBe(stored.rows.length)
      expect(seen.failed).toEqual([])
      expect(Math.max(...absencesMs)).toBeLessThan(WITHIN.back)
      const { rows: columns } = await nodes.database.query(
        `select from information_schema.columns where column_name = 'of_next_release'`,
      )
      expect(columns).toHaveLength(1)
    })

    it('a forward and a web page that enter at another node carry equal bytes', async () => {
      await using device = await deviceAt(nodes, 1)
      const { deviceId } = device
      const { token } = await newMember(nodes)
      const { url, jwt } = await nodes.at(0)('devices_IssueHttpProxyToken', {
        deviceId,
        port: (pages.address() as AddressInfo).port,
      })
      const headers = { host: new URL(url).host, cookie: `__Host-muster-device=${jwt}` }
      let count = 0
      for (const entry of [0, 2]) {
        const bytes = randomBytes(1_000_000)
        await using line = await connectPerson(nodes.hubs[entry]!.url, token)
        const channel = await line.open(forward(deviceId))
        const writing = (async () => {
          for (let at = 0; at < bytes.length; at += 50_000)
            await channel.write(bytes.subarray(at, at + 50_000))
          channel.end()
        })()
        const received: Uint8Array[] = []
        for await (const piece of channel) received.push(piece)
        await writing
        expect(digestOf(Buffer.concat(received))).toBe(digestOf(bytes))
        const { port } = nodes.hubs[entry]!
        const outgoing = request({ host: '127.0.0.1', port, method: 'POST', path: '/', headers })
        outgoing.end(bytes)
        const [answer] = await once(outgoing, 'response')
        expect(answer.statusCode).toBe(200)
        expect(digestOf(Buffer.concat(await answer.toArray()))).toBe(digestOf(bytes))
        count += 4 * bytes.length
      }
      note(`${carrierKind}: ${count} bytes equal through two other nodes`)
    })

    it('a console on one node shows within 1 s what changes on another', async () => {
      // A node connects to the bus, which carries the messages between nodes, only when it has seen another node.
      await until('all nodes are on the bus', () =>
        nodes.hubs.every(hub => hub.logged('the bus between nodes is connected').length > 0),
      )
      await using device = await deviceAt(nodes, 1)
      const { deviceId } = device
      const person = await newMember(nodes)
      await using live = await streamAt(nodes, 0, person)
      await using other = await streamAt(nodes, 2, person)
      const times: number[] = []
      // The first change is not measured, because the subscription of a node takes effect only some time after the stream has opened.
      for (let round = 0; round < 6; round++) {
        const [before, beforeOther] = [live.changes.length, other.changes.length]
        await device.invoke('devices_SetProperty', { deviceId, name: 'round', value: round })
        const ms = await timeOf(
          until('both streams have it', () => {
            const isIn = (changes: typeof live.changes, from: number) =>
              changes
                .slice(from)
                .some(change => change.topic === 'properties' && change.deviceId === deviceId)
            return isIn(live.changes, before) && isIn(other.changes, beforeOther)
          }),
        )
        if (round > 0) times.push(ms)
      }
      note(
        `${carrierKind}: changes shown on two other nodes after ${times.map(ms => ms.toFixed(0)).join(', ')} ms`,
      )
      expect(Math.max(...times)).toBeLessThan(WITHIN.live)
    })

    const textOf = (times: Record<string, number>): string =>
      Object.entries(times)
        .map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`)
        .join(', ')

    it('a right that ends on one node ends on the others within 1 s', async () => {
      const times = await endRights(nodes, echo.port)
      note(`${carrierKind}: ended rights took effect after ${textOf(times)}`)
      for (const ms of Object.values(times)) expect(ms).toBeLessThan(WITHIN.rights)
    })

    const readiness = async (node: number): Promise<string> => {
      const answer = await fetch(`${nodes.hubs[node]!.url}/readyz`)
      return ((await answer.json()) as { status: string }).status
    }
    const allAre = (...expected: string[]) =>
      until(`the nodes are ${expected}`, async () => {
        const states = await Promise.all([0, 1, 2].map(readiness))
        return states.join() === expected.join()
      })

    it('a node that is cut off from the bus is still served, and comes back by itself', async () => {
      await using device = await deviceAt(nodes, 1)
      await using cutOff = await deviceAt(nodes, 2)
      await using live = await streamAt(nodes, 0, await newMember(nodes))
      nodes.wires[2]!.set('silent')
      // The third node reads nothing, so the server of the bus queues the messages for it.
      for (let n = 0; n < 200; n++)
        await device.invoke('devices_SetProperty', { deviceId: device.deviceId, name: 'burst', value: n })
      expect(live.changes.length).toBeGreaterThan(0)
      const { certificates } = await nodes.at(0)('devices_GetDetails', { deviceId: cutOff.deviceId })
      const { certificateId } = certificates[0]!
      await nodes.at(0)('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
      const polledMs = await timeOf(cutOff.link.ended)
      expect(polledMs).toBeLessThan(WITHIN.rightsPolled)
      await allAre('ready', 'ready', 'degraded')
      nodes.wires[2]!.set('open')
      const healedMs = await timeOf(allAre('ready', 'ready', 'ready'))
      note(
        `${carrierKind}: cut off: right ended after ${polledMs.toFixed(0)} ms, healed after ${healedMs.toFixed(0)} ms`,
      )
    })

    it('a bus that freezes and ends refuses nothing, rights end within 5 s, and it heals by itself', async () => {
      nodes.carrier.freeze()
      const noticed = timeOf(allAre('degraded', 'degraded', 'degraded'))
      const times = await endRights(nodes, echo.port)
      const noticedMs = await noticed
      await nodes.carrier.stop()
      await using _device = await deviceAt(nodes, 1)
      await using live = await streamAt(nodes, 0, await newMember(nodes))
      await nodes.carrier.start()
      const healedMs = await timeOf(allAre('ready', 'ready', 'ready'))
      note(
        `${carrierKind}: noticed after ${noticedMs.toFixed(0)} ms, without bus ${textOf(times)}, healed after ${healedMs.toFixed(0)} ms`,
      )
      for (const ms of Object.values(times)) expect(ms).toBeLessThan(WITHIN.rightsPolled)
      // The hub ends the stream, because it may have missed changes. The console then opens a new stream and reloads its data.
      await live.ended
    })

    it('ids of another tenant in messages and node links have no effect', async () => {
      const foreign = await newMember(nodes)
      await nodes.database.query('delete from organization_member where user_id = $1', [foreign.userId])
      await using device = await deviceAt(nodes, 1)
      await using live = await streamAt(nodes, 0, foreign)
      const own = await newMember(nodes)
      await using line = await connectPerson(nodes.hubs[2]!.url, own.token)
      const { rows } = await nodes.database.query(
        `select c.connection_id, d.project_id, n.node_id, n.link_url, n.name from device d
           join device_connection c on c.connection_id = d.connection_id join cluster_node n on n.node_id = c.node_id
          where d.device_id = $1`,
        [device.deviceId],
      )
      const [holder] = rows
      const { organizationId, projectId } = nodes.project
      const certificates = await nodes.at(0)('devices_GetDetails', { deviceId: device.deviceId })
      const rights = [
        { organizationId },
        { projectId },
        { deviceId: device.deviceId },
        { certificateId: certificates.certificates[0]!.certificateId },
        { userId: own.userId },
        { connectionId: holder.connection_id },
      ]
      const messages: [subject: string, text: string][] = [
        ['rights', batch(rights)],
        [`live.${foreign.userId}`, batch([{ topic: 'devices', organizationId, projectId }])],
        [`live.${organizationId}`, batch([{ topic: 'devices', organizationId: newId('org') }])],
        [`node.${holder.node_id}`, batch([{ connectionId: newId('d_conn') }, { deviceId: device.deviceId }])],
        ['rights', 'no JSON'],
        ['rights', batch([7, null, { userId: "u_' or true --" }])],
      ]
      for (const [subject, text] of messages) await publishForged(subject, text)
      // PostgreSQL itself refuses notifications of this size.
      const huge = publishForged('rights', batch([{ userId: 'u'.repeat(1_000_000) }]))
      if (carrierKind === 'PostgreSQL') await expect(huge).rejects.toThrow('payload string too long')
      else await huge

      const peer = { nodeId: holder.node_id as string, url: holder.link_url as string }
      const { rows: others } = await nodes.database.query(
        `select node_id from cluster_node where left_at is null and name = 'node-3'`,
      )
      const node = new NodeLink(peer, {
        nodeId: others[0].node_id,
        keys: nodeLinkKeys(instanceKeyOf(INSTANCE_KEY), undefined),
        allowPlaintext: false,
        idleMs: 60_000,
        log: createLog('silent'),
      })
      const connection = { deviceId: device.deviceId, connectionId: holder.connection_id as string }
      const refused = node.device({ ...connection, projectId: newId('p') }).open(`forward/tcp/${echo.port}`)
      await expect(refused).rejects.toThrow()
      const other = node.device({ ...connection, connectionId: newId('d_conn'), projectId })
      await expect(other.open(`forward/tcp/${echo.port}`)).rejects.toThrow()
      node.close('done')

      // A later change arrives, so the nodes have read the forged messages before it.
      await using after = await streamAt(nodes, 2, own)
      await until('a later change arrives', async () => {
        await device.invoke('devices_SetProperty', { deviceId: device.deviceId, name: 'later', value: 1 })
        return after.changes.length > 0
      })
      expect(live.changes).toEqual([])
      expect(live.isOpen && line.isOpen && device.link.isOpen).toBe(true)
      expect(await nodes.holderOf(device.deviceId)).toBe(1)
      for (const hub of nodes.hubs)
        expect(hub.logged('messages from other nodes were ignored')).toHaveLength(1)
    })

    const batch = (messages: unknown[]): string => JSON.stringify({ from: newId('cluster_node'), messages })
    const publishForged = (subject: string, text: string): Promise<void> =>
      nodes.carrier.publish(
        `muster.${instanceKeyOf(INSTANCE_KEY)('bus').toString('hex').slice(0, 12)}.${subject}`,
        text,
      )

    // Runs with only one kind of bus, because it takes a minute.
    if (carrierKind === 'PostgreSQL')
      it('a published agent of the killed node is back within 90 s', async () => {
        const ms = await publicBackMs
        note(`${carrierKind}: a published agent back after ${ms.toFixed(0)} ms`)
        expect(ms).toBeLessThan(WITHIN.publicBack)
      })
  })
})
