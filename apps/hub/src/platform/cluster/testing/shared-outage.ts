import {
  type CapturedLog,
  capturedLog,
  connectDevice,
  databaseWire,
  type FakeDevice,
  scratchDatabase,
  secondNode,
  type TestNode,
  testHub,
  until,
} from '@muster/testkit'
import { expect } from 'vitest'

const DEVICES_PER_NODE = 5

type Outcome = { isOpen: boolean[]; endReasons: unknown[]; logs: CapturedLog[] }

/**
 * Three nodes with a balanced fleet lose their external database for `awayMs` and get it back. With `restarts`, one node is killed during
 * the outage and started again after it, before the heartbeats of the other nodes. With `hangs`, the database runs statements and does not
 * answer meanwhile, as with commits that wait for a disk or a standby. Returns, two stale periods after the outage, the links of
 * the nodes that stay, the end reasons of all connections of their devices, and the logs of two of these nodes.
 */
export async function shareOutage({
  heartbeatMs,
  awayMs,
  restarts = false,
  hangs = false,
}: {
  heartbeatMs: number
  awayMs: number
  restarts?: boolean
  hangs?: boolean
}): Promise<Outcome> {
  await using database = await scratchDatabase('muster')
  await using wire = await databaseWire(database)
  const logs = [capturedLog('info'), capturedLog('info')]
  await using stack = new AsyncDisposableStack()
  const settings = { databaseUrl: wire.url, heartbeatMs }
  const first = stack.use(await testHub({ ...settings, nodeName: 'one' }, logs[0]!.log))
  const start = (nodeName: string, log = capturedLog('info')): Promise<TestNode> =>
    secondNode(first, { ...settings, nodeName }, log.log)
  const second = stack.use(await start('two', logs[1]))
  const restarted = await start('three')
  const staying = [first, second]
  const { owner, projectId, token } = await first.fleet()
  const devices: FakeDevice[] = []
  for (const { url } of [...staying, restarted])
    for (let count = 0; count < DEVICES_PER_NODE; count++)
      devices.push(stack.use(await connectDevice({ url, token })))
  const watched = restarts ? devices.slice(0, -DEVICES_PER_NODE) : devices
  const shown = await owner.invoke('projects_QueryDevices', { projectId })
  expect(shown.devices.map(({ isConnected }) => isConnected)).toEqual(devices.map(() => true))
  // All nodes know each other, so that the outage begins in the steady state.
  await until('each node has been steady for a stale period', () => nodesBeatFor(database, 4 * heartbeatMs))

  if (hangs) wire.hold()
  else wire.down(true)
  const end = performance.now() + awayMs
  // The node cannot leave the cluster, so its row stays as that of a killed node.
  if (restarts) await restarted[Symbol.asyncDispose]()
  else stack.use(restarted)
  await until('the outage has lasted', () => performance.now() > end, awayMs + 10_000)
  if (hangs) wire.release()
  else wire.down(false)
  if (restarts) stack.use(await start('three'))
  const [{ backAt }] = (await database.query('select now()::text as "backAt"')) as [{ backAt: string }]
  await until(
    'the nodes have stored heartbeats for two stale periods',
    async () => {
      const rows = await database.query(
        `select from cluster_node where last_heartbeat > '${backAt}'::timestamptz + interval '${8 * heartbeatMs} ms'`,
      )
      return rows.length === 3
    },
    60_000 + 20 * heartbeatMs,
  )
  const isOpen = watched.map(({ link }) => link.isOpen)
  const ids = watched.map(({ deviceId }) => `'${deviceId}'`).join()
  const rows = await database.query(
    `select end_reason from device_connection where device_id in (${ids}) order by connected_at`,
  )
  return { isOpen, endReasons: rows.map(row => (row as { end_reason: unknown }).end_reason), logs }
}

async function nodesBeatFor(
  database: { query(text: string): Promise<unknown[]> },
  ms: number,
): Promise<boolean> {
  const rows = await database.query(
    `select from cluster_node where left_at is null and last_heartbeat > joined_at + interval '${ms} ms'`,
  )
  return rows.length === 3
}

/** Warnings and errors of a log. */
export function problemsIn({ lines }: CapturedLog): CapturedLog['lines'] {
  return lines.filter(({ level }) => level === 'warn' || level === 'error')
}

/** Asserts that no device of the nodes that stay has lost its link. */
export function expectNoReconnect({ isOpen, endReasons }: Outcome): void {
  expect(isOpen).toEqual(isOpen.map(() => true))
  expect(endReasons).toEqual(isOpen.map(() => null))
}
