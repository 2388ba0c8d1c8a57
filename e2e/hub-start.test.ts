import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { connectDevice } from '@muster/testkit/device'
import { until } from '@muster/testkit/until'
import { describe, expect, it } from 'vitest'
import { complaint, expectNothingLeft, socketDirOf } from './ended-hub.ts'
import { adminOf, databaseOf, firstToken, newFolder, signedIn, spawnHub, startedHub } from './hub-child.ts'

describe('the first start', () => {
  it('prints the URL and next steps, and writes the credentials to a file, which later starts keep', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const hub = await spawnHub({ dataDir })
    // During its start the hub is alive but not ready.
    const seen = new Set<string>()
    await until(
      'it is ready',
      async () => {
        const statusOf = (path: string, method = 'GET'): Promise<number | undefined> =>
          fetch(`${hub.url}/${path}`, { method }).then(
            answer => answer.status,
            () => undefined,
          )
        // The action is sent only after `/readyz` has answered, because it must succeed once the hub has reported readiness.
        const health = await statusOf('healthz')
        const ready = await statusOf('readyz')
        const action = await statusOf('api/v1/actions/invoke/actor_GetActor', 'POST')
        seen.add(`${health} ${ready} ${action}`)
        return ready === 200
      },
      60_000,
    )
    expect([...seen]).toContain('200 503 503')
    expect([...seen].filter(answers => /^(\d+|undefined) 200/.test(answers))).toEqual(['200 200 200'])
    await hub.ready()

    const stdout = hub.stdout()
    expect(stdout).toContain(
      `Muster is running at http://localhost:${hub.port} (listening on 127.0.0.1:${hub.port})`,
    )
    const token = firstToken(hub)
    // Goal S12 (docs/goals.md): standard output is not a terminal here and may be a log, so it must not contain the token itself.
    const agent = `npm run agent -- %s --hub http://localhost:${hub.port} --token-file ${dataDir}/first-token`
    expect(stdout).toContain(`\n  ${agent.replace('%s', 'run')}\n`)
    expect(stdout).toContain(`\n  ${agent.replace('%s', 'simulate')} --count 10\n`)
    const file = join(dataDir, 'initial-admin.json')
    expect(stdout).toContain(file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(dataDir, 'database.json')).mode & 0o777).toBe(0o600)
    const admin = await adminOf(dataDir)
    expect(Object.keys(admin)).toEqual(['url', 'email', 'password', 'deploymentToken'])
    expect(admin.url).toBe(`http://localhost:${hub.port}`)
    expect(admin.password).toMatch(/^(\w{4}-){3}\w{4}$/)
    expect(stdout + hub.stderr()).not.toContain(admin.password)
    expect(stdout + hub.stderr()).not.toContain(token)

    // The credentials in `initial-admin.json` work.
    const device = await connectDevice({ url: hub.url, token })
    const invoke = await signedIn(hub)
    const { organizations } = await invoke('users_QueryOrganizations', {
      userId: ((await invoke('actor_GetActor', {})).actor as { userId: string }).userId as never,
    })
    expect(organizations).toHaveLength(1)
    await device[Symbol.asyncDispose]()

    // The hub connects only as `muster_hub`, the role that owns no tables.
    await using database = await databaseOf(dataDir)
    const { rows: roles } = await database.query(
      `select distinct usename as role from pg_stat_activity where application_name = 'muster'`,
    )
    expect(roles).toEqual([{ role: 'muster_hub' }])

    const socketDir = await socketDirOf(dataDir)
    hub.kill('SIGTERM')
    expect(await hub.exited).toEqual({ code: 0, signal: null })
    await expectNothingLeft(dataDir, socketDir)

    await using again = await startedHub({ dataDir })
    expect(await adminOf(dataDir)).toEqual(admin)
    expect(again.stdout()).not.toContain('--token')
    expect(again.stdout()).toContain(file)
    await signedIn(again)
  })
})

describe('a start fails with one line', () => {
  it('if its port is in use', async () => {
    await using folder = await newFolder()
    const other = createServer().listen(0, '127.0.0.1')
    await until('it listens', () => other.listening)
    const { port } = other.address() as { port: number }
    expect(await complaint({ dataDir: join(folder.path, 'data'), port })).toBe(
      `MUSTER_PORT: found 127.0.0.1:${port}, which another program uses, expected a free port.`,
    )
    other.close()
  })

  it('if a setting is invalid', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    expect(await complaint({ dataDir, env: { MUSTER_PORT: 'http' } })).toBe(
      'MUSTER_PORT: found "http", expected a port number.',
    )
    expect(existsSync(dataDir)).toBe(false)
  })

  it('except with --help, which prints the usage', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const hub = await spawnHub({ dataDir, options: ['--help'] })
    expect(await hub.exited).toEqual({ code: 0, signal: null })
    expect(hub.stdout()).toMatch(/^Usage: muster-hub \[--demo\] \| COMMAND \| --print-config\n/)
    expect(existsSync(dataDir)).toBe(false)
  })
})
