import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createClient, type Invoke } from '@muster/actions/client'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { createLog } from '@muster/hub/log'
import { freePort } from '@muster/testkit/free-port'
import { FRONT_SECRET, type Front, type FrontProgram, startFront } from '@muster/testkit/front'
import { natsServer } from '@muster/testkit/nats-server'
import { until } from '@muster/testkit/until'
import pg from 'pg'
import { adminOf, type Folder, firstToken, type HubChild, newFolder, startedHub } from './hub-child.ts'
import { type TcpWire, tcpWire } from './tcp-wire.ts'

/** Server that forwards the messages between nodes. */
export type CarrierKind = 'PostgreSQL' | 'NATS'

/** Instance key of all nodes. */
export const INSTANCE_KEY = 'ab'.repeat(32)
const ROOT = join(import.meta.dirname, '..')
const NAMES = ['node-1', 'node-2', 'node-3'] as const
/** Maximum number of connections to PostgreSQL. Each of the three nodes needs 13, the test needs the others. */
const MAX_CONNECTIONS = 100

/** Makes the server that carries the messages fail for all nodes. `Nodes.wires` cuts off single nodes. */
type Carrier = {
  /** Stops all answers until `stop` or `start`. Connections stay open. */
  freeze(): void
  /** Stops the server or ends its sessions, so that all connections break. */
  stop(): Promise<void>
  /** Makes the server work again. */
  start(): Promise<void>
  /** Publishes texts on a channel directly, not through the TCP proxies of the nodes. */
  publish(channel: string, ...texts: string[]): Promise<void>
  /**
   * Shows how the message server treats nodes that do not read. NATS closes their sessions: `ended` counts them. PostgreSQL keeps their
   * messages in its queue: `queued` is the used share of that queue.
   */
  slowSessions(): Promise<{ ended: number } | { queued: number }>
}

/** Three hub processes on one PostgreSQL, with a proxy in front that is configured as docs/operating.md prints it. */
export type Nodes = AsyncDisposable & {
  front: Front
  carrier: Carrier
  /** The hub processes, in the order of their addresses in the proxy's configuration. */
  hubs: HubChild[]
  /** TCP proxies, each between a node and the message server. With PostgreSQL only the session for LISTEN and NOTIFY goes through it. */
  wires: TcpWire[]
  /** The first project. */
  project: { organizationId: string; projectId: string }
  /** The first deployment token. */
  token: string
  /** Address and password of the first administrator. */
  admin: { email: string; password: string }
  /** Session cookie of the first administrator. */
  cookie: string
  /** Connection to the database as its superuser, and the URL with which the nodes connect. */
  database: pg.Pool
  databaseUrl: string
  /** Starts a node whose process has ended, from another build if `main` names one. Resolves when it is ready. */
  start(at: number, main?: string): Promise<void>
  /** Runs actions at one node, as the first administrator or with the session cookie of another person. */
  at(node: number, cookie?: string): Invoke
  /** Index of the node to which a device is connected. Waits until the device is connected. */
  holderOf(deviceId: string): Promise<number>
}

/** Starts three nodes and a proxy. `env` is added to the environment of each node, and `firstMain` names another build for their first start. */
export async function startNodes(
  kind: CarrierKind,
  program: FrontProgram,
  env: Record<string, string> = {},
  firstMain?: string,
): Promise<Nodes> {
  await using resources = new AsyncDisposableStack()
  const folder = resources.use(await newFolder())
  const base = join(folder.path, 'database')
  const files = join(folder.path, 'files')
  await mkdir(base, { mode: 0o755 })
  await mkdir(files)
  const { access } = resources.use(
    await startEmbeddedDatabase(base, createLog('error'), { maxConnections: MAX_CONNECTIONS }),
  )
  const { host, user, password, database: name } = access.owner as Record<string, string>
  const login = `postgresql://${user}:${password}@`
  const databaseUrl = `${login}${encodeURIComponent(host!)}/${name}`
  const nats = kind === 'NATS' ? resources.use(await natsCarrier()) : undefined
  const wires = await Promise.all(
    NAMES.map(async () =>
      resources.use(
        await tcpWire(() => (nats ? connect(nats.port, '127.0.0.1') : connect(join(host!, '.s.PGSQL.5432')))),
      ),
    ),
  )
  const frontPort = await freePort()
  const ports = await Promise.all(NAMES.map(() => freePort()))
  const publicUrl = `https://localhost:${frontPort}`
  const hubs: HubChild[] = []
  const start = async (at: number, main?: string): Promise<void> => {
    const dataDir = join(folder.path, NAMES[at]!)
    await mkdir(dataDir, { recursive: true })
    await symlink(files, join(dataDir, 'blobs')).catch(() => {})
    const wire = `127.0.0.1:${wires[at]!.port}`
    hubs[at] = await startedHub({
      dataDir,
      port: ports[at]!,
      ...(main !== undefined && { main }),
      env: {
        MUSTER_DATABASE_URL: databaseUrl,
        MUSTER_INSTANCE_KEY: INSTANCE_KEY,
        MUSTER_NODE_NAME: NAMES[at]!,
        MUSTER_NODE_PORT: '0',
        MUSTER_NODE_URL: 'https://127.0.0.1',
        MUSTER_PUBLIC_URL: publicUrl,
        MUSTER_TRUSTED_PROXIES: '127.0.0.1',
        MUSTER_PROXY_SECRET: FRONT_SECRET,
        MUSTER_DRAIN_SECS: '2',
        ...(nats
          ? { MUSTER_NATS_URL: `nats://${wire}` }
          : { MUSTER_DATABASE_DIRECT_URL: `${login}${wire}/${name}` }),
        ...env,
      },
    })
  }
  resources.defer(async () => void (await Promise.all(hubs.map(hub => hub[Symbol.asyncDispose]()))))
  // The first node migrates the database and makes the first administrator.
  await start(0, firstMain)
  await Promise.all([start(1, firstMain), start(2, firstMain)])
  const front = resources.use(await startFront(program, ports, frontPort))
  const database = new pg.Pool({ ...access.admin, database: name!, max: 4 })
  database.on('error', () => {})
  resources.defer(() => database.end())
  const [first] = hubs as [HubChild]
  const admin = await adminOf(first.dataDir)
  const cookie = await sessionCookie(first, admin)
  const { rows } = await database.query<Nodes['project']>(
    'select organization_id as "organizationId", project_id as "projectId" from project',
  )
  const kept = resources.move()
  return {
    project: rows[0]!,
    front,
    hubs,
    wires,
    admin,
    cookie,
    database,
    databaseUrl,
    start,
    token: firstToken(first),
    carrier: nats ?? wiredCarrier(wires, database),
    at(node, person = cookie) {
      const { url } = hubs[node]!
      return createClient({
        baseUrl: url,
        headers: { cookie: person, origin: url.replace('http:', 'https:') },
      })
    },
    holderOf: async deviceId => {
      const name = await until('a node holds the device', async () => {
        const { rows } = await database.query<{ name: (typeof NAMES)[number] }>(
          `select n.name from device d join device_connection c on c.connection_id = d.connection_id and c.ended_at is null
             join cluster_node n on n.node_id = c.node_id where d.device_id = $1`,
          [deviceId],
        )
        return rows[0]?.name
      })
      return NAMES.indexOf(name)
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/**
 * Copies the hub into a folder as the build of the next release, and adds a migration with one further column. Resolves to its entry
 * file.
 */
export async function nextBuild({ path }: Folder): Promise<string> {
  const root = join(path, 'next')
  const isSource = (file: string): boolean => !file.includes('/node_modules') && !file.endsWith('.test.ts')
  for (const part of ['apps/hub', 'tools', 'package.json'])
    await cp(join(ROOT, part), join(root, part), { recursive: true, filter: isSource })
  for (const part of ['node_modules', 'apps/console', 'apps/agent', 'dist', 'docs'])
    await symlink(join(ROOT, part), join(root, part))
  await writeFile(
    join(root, 'apps/hub/src/platform/database/migrations/9999_next_release.sql'),
    '-- A column of the next release.\nalter table device add column of_next_release text;\n',
  )
  return join(root, 'apps/hub/muster-hub.js')
}

/** PostgreSQL as carrier of messages. Only the sessions for notifications hang and end; all other connections keep working. */
function wiredCarrier(wires: readonly TcpWire[], database: pg.Pool): Carrier {
  const set = (state: Parameters<TcpWire['set']>[0]): void => {
    for (const wire of wires) wire.set(state)
  }
  return {
    freeze: () => set('silent'),
    stop: async () => set('down'),
    start: async () => set('open'),
    publish: async (channel, ...texts) =>
      void (await database.query('select pg_notify($1, text) from unnest($2::text[]) as t (text)', [
        channel,
        texts,
      ])),
    async slowSessions() {
      const { rows } = await database.query<{ queued: number }>(
        'select pg_notification_queue_usage() as queued',
      )
      return rows[0]!
    },
  }
}

async function natsCarrier(): Promise<Carrier & AsyncDisposable & { port: number }> {
  const monitorPort = await freePort()
  const server = await natsServer(`http: "127.0.0.1:${monitorPort}"`)
  const { port } = server
  return {
    port,
    async slowSessions() {
      const answer = await fetch(`http://127.0.0.1:${monitorPort}/varz`)
      return { ended: ((await answer.json()) as { slow_consumers: number }).slow_consumers }
    },
    async publish(channel, ...texts) {
      const socket = connect(port, '127.0.0.1')
      const sent = texts.map(text => `PUB ${channel} ${Buffer.byteLength(text)}\r\n${text}\r\n`)
      socket.write(`CONNECT {"verbose":false}\r\n${sent.join('')}PING\r\n`)
      let answer = ''
      socket.on('data', bytes => (answer += bytes))
      await until('the server has read it', () => answer.includes('PONG'))
      socket.destroy()
    },
    freeze: () => server.signal('SIGSTOP'),
    stop: () => server.stop(),
    start: () => server.restart(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function sessionCookie(
  { url }: HubChild,
  person: { email: string; password: string },
): Promise<string> {
  const response = await fetch(`${url}/api/private/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(person),
  })
  if (!response.ok) throw new Error(`signing in answered ${response.status}: ${await response.text()}`)
  return response.headers.get('set-cookie')!.split(';')[0]!
}
