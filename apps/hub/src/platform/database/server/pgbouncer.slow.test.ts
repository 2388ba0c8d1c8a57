import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  connectDevice,
  freePort,
  type ScratchDatabase,
  scratchDatabase,
  testHub,
  until,
} from '@muster/testkit'
import { hasPrograms, PROGRAMS } from '@muster/testkit/programs'
import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../config/config-error.ts'

/** Starts PgBouncer in front of a database, with `mode` as its `pool_mode`. Disposal stops it. */
async function pgBouncer({ connection }: ScratchDatabase, mode: string) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-pgbouncer-'))
  const port = await freePort()
  const { host, user, password, database } = connection
  // PgBouncer refuses to run as root, and only the account of the PostgreSQL server may use the server's socket. So PgBouncer
  // runs under that account.
  const { uid, gid } = await stat(host!)
  await chown(folder, uid, gid)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
     * = host=${host} user=${user} password=${password as string}
     [pgbouncer]
     pool_mode = ${mode}
     listen_addr = 127.0.0.1
     listen_port = ${port}
     unix_socket_dir =
     auth_type = any
     default_pool_size = 40
     server_reset_query = discard all`,
  )
  const child = spawn(PROGRAMS.pgbouncer.path, [file], {
    uid,
    gid,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await until('it listens', () => output.includes('process up'))
  return {
    url: `postgresql://${user}@127.0.0.1:${port}/${database}`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await once(child, 'close')
      await rm(folder, { recursive: true })
    },
  }
}

describe.runIf(hasPrograms('pgbouncer'))('behind PgBouncer', () => {
  it.each([
    [
      'transaction',
      'MUSTER_DATABASE_URL: found a connection pooler that shares sessions between clients (transaction pooling), expected PostgreSQL itself or a pooler with session pooling (PgBouncer: pool_mode = session).',
    ],
    [
      'statement',
      'MUSTER_DATABASE_URL: found a database that does not let the hub in (transaction blocks not allowed in statement pooling mode), expected a reachable PostgreSQL where it may create tables and schemas.',
    ],
  ])('O3: refuses %s pooling in one line, before anything is written', async (mode, line) => {
    await using database = await scratchDatabase()
    await using pooler = await pgBouncer(database, mode)
    await expect(testHub({ databaseUrl: pooler.url })).rejects.toEqual(new ConfigError(line))
    expect(await database.query("select from pg_class where relnamespace = 'public'::regnamespace")).toEqual(
      [],
    )
  })

  it('O3: works with session pooling', async () => {
    await using database = await scratchDatabase('muster')
    await using pooler = await pgBouncer(database, 'session')
    await using hub = await testHub({ databaseUrl: pooler.url })
    const { owner, projectId, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    await device.invoke('devices_SetProperty', { deviceId: device.deviceId, name: 'a', value: 1 })
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId, limit: 1 })
    expect(devices).toMatchObject([{ deviceId: device.deviceId, isConnected: true }])
    const { rows } = await hub.pool.query("select current_setting('statement_timeout') as timeout")
    expect(rows).toEqual([{ timeout: '30s' }])
    expect(await hub.readiness.state()).toEqual({ status: 'ready' })
  })

  it('refuses a pooler for messages between nodes, and accepts the database itself', async () => {
    await using database = await scratchDatabase('muster')
    await using session = await pgBouncer(database, 'session')
    await using transaction = await pgBouncer(database, 'transaction')
    await expect(testHub({ databaseUrl: session.url, databaseDirectUrl: transaction.url })).rejects.toEqual(
      new ConfigError(
        'MUSTER_DATABASE_DIRECT_URL: found a connection pooler that shares sessions between clients (transaction pooling), expected PostgreSQL itself.',
      ),
    )
    await using hub = await testHub({ databaseUrl: session.url, databaseDirectUrl: database.url })
    expect(await hub.readiness.state()).toEqual({ status: 'ready' })
  })
})
