import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { newId } from '@muster/actions'
import { capturedLog } from '@muster/testkit'
import { natsServer } from '@muster/testkit/nats-server'
import { hasPrograms } from '@muster/testkit/programs'
import { until } from '@muster/testkit/until'
import type pg from 'pg'
import { expect, it } from 'vitest'
import { natsConnect } from '../apps/hub/src/platform/bus/nats-connection.ts'
import { RemoteBus } from '../apps/hub/src/platform/bus/remote-bus.ts'
import { databaseOf, firstToken, type HubChild, newFolder, startedHub } from './hub-child.ts'
import { type LossyNetwork, lossyNetwork } from './lossy-network.ts'
import type { StormOrder, StormState } from './storm-device-process.ts'

/** Longest time after which a device counts as disconnected, in milliseconds (goal R6). */
const NOTICED_MS = 60_000

/** Whether a connection from the namespace of the device arrives. A firewall of this machine may refuse it. */
async function isReached({ onDevice, hubAddress }: LossyNetwork): Promise<boolean> {
  const server = createServer(socket => socket.destroy()).listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const script = `
    require('node:net').connect(${port}, '${hubAddress}', () => process.exit(0))
    setTimeout(() => process.exit(1), 5_000)`
  const [program, ...words] = [...onDevice, process.execPath, '--eval', script]
  const [code] = await once(spawn(program!, words, { stdio: 'ignore' }), 'exit')
  server.close()
  return code === 0
}

/** Starts a device in the namespace of the network. */
function startDevice({ onDevice, hubAddress }: LossyNetwork, hub: HubChild) {
  const script = new URL('./storm-device-process.ts', import.meta.url).pathname
  const [program, ...words] = [...onDevice, process.execPath, script]
  const child = spawn(program!, words, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  let state: StormState | undefined
  child.on('message', report => {
    state = report as StormState
  })
  child.send({ url: `http://${hubAddress}:${hub.port}`, token: firstToken(hub) } satisfies StormOrder)
  return {
    /** Latest report of the device; undefined before its first connection. */
    state: () => state,
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}

async function rowsOf(database: pg.Client, deviceId: string) {
  const { rows: events } = await database.query<{ event_id: string }>(
    'select event_id from device_event where device_id = $1',
    [deviceId],
  )
  const { rows: connections } = await database.query<{ isOpen: boolean; isConnected: boolean }>(
    `select c.ended_at is null as "isOpen", d.is_connected as "isConnected"
       from device_connection c join device d using (device_id) where device_id = $1`,
    [deviceId],
  )
  return {
    events: events.map(({ event_id }) => event_id),
    connections: connections.length,
    open: connections.filter(({ isOpen }) => isOpen).length,
    isConnected: connections.some(({ isConnected }) => isConnected),
  }
}

it.for([
  ['packets to both sides', 'both'],
  ['answers to the device', 'device'],
] as const)(
  'goal R6: a device is shown as disconnected when the network loses %s, and comes back with each event stored once',
  { timeout: 180_000 },
  async ([, to], context) => {
    using network = lossyNetwork()
    if (!network) return context.skip('needs root, ip of iproute2, nsenter and network namespaces')
    if (!(await isReached(network)))
      return context.skip('needs a firewall that lets other networks of this machine in')
    await using folder = await newFolder()
    await using hub = await startedHub({
      dataDir: folder.path,
      env: {
        MUSTER_HOST: '0.0.0.0',
        MUSTER_HOSTS: network.hubAddress,
        MUSTER_ALLOW_PLAINTEXT_DEVICES: '1',
      },
    })
    await using database = await databaseOf(folder.path)
    using device = startDevice(network, hub)
    const { deviceId } = await until('the device has published', () => {
      const state = device.state()
      return state && state.acknowledged.length > 10 && state
    })

    network.lose(to)
    const lostAtMs = performance.now()
    const lostOnes = device.state()!
    await until(
      'the device is shown as disconnected',
      async () => !(await rowsOf(database, deviceId)).isConnected,
      NOTICED_MS,
    )
    const noticedMs = performance.now() - lostAtMs
    const during = await rowsOf(database, deviceId)
    expect(during.open).toBe(0)
    const known = new Set(device.state()!.acknowledged)
    const unanswered = during.events.filter(eventId => !known.has(eventId))
    // The event arrived, but its acknowledgement was lost.
    if (to === 'device') expect(unanswered).toHaveLength(1)

    network.heal()
    const after = await until(
      'the device publishes again',
      () => {
        const state = device.state()!
        return state.absencesMs.length > 0 && state.acknowledged.length > known.size + 10 && state
      },
      NOTICED_MS,
    )
    const { events, connections, open, isConnected } = await rowsOf(database, deviceId)
    process.stdout.write(
      `${to}: noticed after ${(noticedMs / 1000).toFixed(1)} s, ${after.acknowledged.length - lostOnes.acknowledged.length} events since, ${connections} connections\n`,
    )
    expect({ open, isConnected }).toEqual({ open: 1, isConnected: true })
    expect(new Set(events).size).toBe(events.length)
    expect(events).toEqual(expect.arrayContaining([...after.acknowledged, ...unanswered]))
    if (to === 'device') expect(after.acknowledged).toContain(unanswered[0])
  },
)

it.runIf(hasPrograms('nats-server'))(
  'nodes notice when the network to NATS loses all packets, and are on the bus again by themselves',
  { timeout: 90_000 },
  async context => {
    using network = lossyNetwork()
    if (!network) return context.skip('needs root, ip of iproute2, nsenter and network namespaces')
    const { deviceAddress: host, onDevice: inside } = network
    await using server = await natsServer('', { host, inside })
    const busOf = () => {
      const connect = natsConnect([`nats://${host}:${server.port}`], 'test')
      const { log } = capturedLog()
      const bus = new RemoteBus({ kind: 'NATS', nodeId: newId('cluster_node'), log, connect, intervalMs: 0 })
      void bus.start()
      return bus
    }
    await using a = busOf()
    await using b = busOf()
    const are = (isConnected: boolean): Promise<true> =>
      until(`connected: ${isConnected}`, () =>
        [a, b].every(({ status }) => status.isConnected === isConnected),
      )
    await are(true)
    const received: object[] = []
    b.subscribe('rights', right => received.push(right))
    const arrives = async (): Promise<void> => {
      const right = { userId: newId('u') }
      await until('a message arrives', () => {
        a.publish('rights', right)
        return received.some(one => JSON.stringify(one) === JSON.stringify(right))
      })
    }
    await arrives()

    network.lose('both')
    const lostAtMs = performance.now()
    await are(false)
    expect(performance.now() - lostAtMs).toBeLessThan(10_000)
    network.heal()
    await are(true)
    await arrives()
  },
)
