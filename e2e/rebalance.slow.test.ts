import { spawnSync } from 'node:child_process'
import { createCertificate } from '@muster/link/certificate'
import { until } from '@muster/testkit'
import { connectDevice } from '@muster/testkit/device'
import { hasPrograms } from '@muster/testkit/programs'
import { expect, it } from 'vitest'
import { MAIN } from './hub-child.ts'
import { startNodes } from './nodes.ts'
import { StormDevice } from './storm-device.ts'

/** Number of devices. Each of the first two nodes gets three of them, and releases one. */
const DEVICES = 6

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'

it.runIf(hasPrograms('nginx'))(
  'O17: a node that starts late gets its share of the devices by a fast rebalance',
  { timeout: 240_000 },
  async () => {
    await using stack = new AsyncDisposableStack()
    const nodes = stack.use(await startNodes('PostgreSQL', 'nginx'))
    const late = nodes.hubs[2]!
    late.kill('SIGTERM')
    await late.exited
    const devices: StormDevice[] = []
    for (let n = 0; n < DEVICES; n++)
      devices.push(stack.use(await StormDevice.connect(nodes.front.url, nodes.token)))
    for (const device of devices) void device.stay()
    const counts = async (): Promise<Record<string, number>> => {
      const { rows } = await nodes.database.query<{ name: string; count: number }>(
        `select n.name, count(*)::int as count from device_connection c join cluster_node n using (node_id)
          where c.ended_at is null group by n.name order by n.name`,
      )
      return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
    }
    expect(await counts()).toEqual({ 'node-1': 3, 'node-2': 3 })

    await nodes.start(2)
    // nginx forgets its failed attempts when a connection to the node has ended. Until then it sends the node one connection in 2 s.
    const { certificatePem: cert, keyPem: key } = createCertificate('rebalance')
    await until('nginx uses the late node', async () => {
      await using device = await connectDevice({
        url: nodes.front.url,
        token: nodes.token,
        headers: { 'x-client-cert': undefined },
        tls: { cert, key },
      })
      return (await nodes.holderOf(device.deviceId)) === 2
    })
    const rebalance = (): string => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'rebalance', '--fast'], {
        env: { MUSTER_DATABASE_URL: nodes.databaseUrl, MUSTER_DATA_DIR: nodes.hubs[0]!.dataDir },
        encoding: 'utf8',
      })
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      return stdout
    }
    const isOver = async (): Promise<boolean> => {
      const { rows } = await nodes.database.query('select from cluster_node where release_total is not null')
      return rows.length === 0 && devices.every(({ isConnected }) => isConnected)
    }
    const stdout = rebalance()
    for (const name of ['node-1', 'node-2'])
      expect(stdout).toMatch(new RegExp(`^${name} \\(\\S+\\) releases 1 devices in 1 min\\.$`, 'm'))
    const after = await until(
      'each node has its share',
      async () => {
        const found = await counts()
        if (Object.values(found).join() === '2,2,2') return found
        // nginx decides where a released device goes. If it chose a node that was full, the next rebalance moves a device again.
        if (await isOver()) rebalance()
        return false
      },
      120_000,
    )
    process.stdout.write(`devices of the nodes after the rebalance: ${JSON.stringify(after)}\n`)
    await until('two devices have moved', () => devices.flatMap(({ absencesMs }) => absencesMs).length >= 2)
    for (const device of devices) device.stop()
  },
)
