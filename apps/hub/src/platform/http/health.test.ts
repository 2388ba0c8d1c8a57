import { createHash } from 'node:crypto'
import { ask, capturedLog, databaseSession, testHub } from '@muster/testkit'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { joinCluster } from '../cluster/node.ts'
import { loadConfig } from '../config/config.ts'
import { Readiness } from '../database/server/readiness.ts'
import type { Core } from '../pipeline/core.ts'
import { createLog } from '../runtime/log.ts'
import { createServer } from './server.ts'

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]()
})

async function listener(core: () => Core | undefined, log = createLog('silent')): Promise<{ url: string }> {
  const app = await createServer({
    config: loadConfig({ MUSTER_PORT: '0' }),
    instanceKey: () => Buffer.alloc(32),
    log,
    core,
    publicUrl: () => 'http://hub.example',
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  open.push({ [Symbol.asyncDispose]: () => app.close() })
  return { url }
}

describe('a hub that runs', () => {
  it('is alive and ready, without credentials', async () => {
    await using hub = await testHub()
    for (const [path, body] of [
      ['/healthz', { status: 'alive' }],
      ['/readyz', { status: 'ready' }],
      ['/readyz?verbose', { status: 'ready' }],
    ] as const) {
      const answer = await ask(hub, path)
      expect(answer.status).toBe(200)
      expect(answer.json()).toEqual(body)
      expect((await ask(hub, path, { method: 'HEAD' })).status).toBe(200)
    }
  })

  it('is alive but not ready without its database, and reveals no details of it', async () => {
    await using hub = await testHub()
    await hub.db.destroy()
    const ready = await ask(hub, '/readyz')
    expect(ready.status).toBe(503)
    expect(ready.json()).toEqual({ status: 'not ready', reason: 'the database cannot be reached' })
    expect((await ask(hub, '/healthz')).status).toBe(200)
  })

  it('O1: is degraded but ready while a part of it reports a reason', async () => {
    await using hub = await testHub()
    hub.readiness.degrade('disk', 'little space')
    hub.readiness.degrade('bus', 'no messages')
    const both = await ask(hub, '/readyz')
    expect(both.status).toBe(200)
    expect(both.json()).toEqual({ status: 'degraded', reason: 'little space; no messages' })
    hub.readiness.restore('disk')
    expect((await ask(hub, '/readyz')).json()).toEqual({ status: 'degraded', reason: 'no messages' })
    hub.readiness.restore('bus')
    expect((await ask(hub, '/readyz')).json()).toEqual({ status: 'ready' })
  })

  it('O1: is alive but not ready once its heartbeat is old, and gives the reason', async () => {
    await using hub = await testHub()
    const readiness = new Readiness(hub.db, 400)
    const { log } = capturedLog()
    await using _node = await joinCluster({
      db: hub.db,
      name: 'quick',
      log,
      isAlone: false,
      readiness,
      onEvicted() {},
      heartbeatMs: 50,
    })
    const server = await listener(() => ({ readiness }) as Core)
    const answer = async () => {
      const { status, json } = await ask(server, '/readyz')
      return { status, reason: (json() as { reason?: string }).reason }
    }
    const refuse = (state: string) =>
      sql`create or replace function refuse() returns trigger language plpgsql
           as ${sql.lit(`begin raise exception 'no' using errcode = '${state}'; end`)}`.execute(hub.db)
    await refuse('53100')
    await sql`create trigger refuse before update on cluster_node execute function refuse()`.execute(hub.db)
    for (const [state, words] of [
      ['53100', "the database's disk is full, SQLSTATE 53100"],
      ['25006', 'the database is read-only, as a standby is, SQLSTATE 25006'],
      ['XX000', 'the database refused it, SQLSTATE XX000'],
    ] as const) {
      await refuse(state)
      await expect.poll(answer).toEqual({
        status: 503,
        reason: expect.stringMatching(
          new RegExp(`^the heartbeat of this node was last stored \\d+ s ago \\(${words}\\)$`),
        ),
      })
      expect((await ask(server, '/healthz')).status).toBe(200)
    }
    await sql`drop trigger refuse on cluster_node`.execute(hub.db)
    await expect.poll(async () => (await answer()).status).toBe(200)
  })
})

describe('a hub that starts', () => {
  it('is alive and not ready', async () => {
    const hub = await listener(() => undefined)
    expect((await ask(hub, '/healthz')).json()).toEqual({ status: 'alive' })
    for (const path of ['/readyz', '/readyz?verbose']) {
      const ready = await ask(hub, path)
      expect(ready.status).toBe(503)
      expect(ready.json()).toEqual({ status: 'not ready', reason: 'starting' })
    }
  })

  it.each([
    ['POST', '/api/v1/actions/invoke/actor_GetActor'],
    ['POST', '/api/private/login'],
    ['GET', '/api/v1/live'],
    ['GET', '/api/config.json'],
    ['GET', '/api/nothing'],
    ['GET', '/'],
    ['GET', '/healthz/x'],
  ])('answers with 503 and Retry-After: %s %s', async (method, path) => {
    const answer = await ask(await listener(() => undefined), path, { method })
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.json()).toEqual({
      kind: 'Internal',
      message: 'The hub is starting or stopping.',
      requestId: answer.headers.get('x-request-id'),
    })
  })

  it('answers browsers with a page that reloads automatically, whatever the path', async () => {
    const hub = await listener(() => undefined)
    const headers = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
    for (const path of ['/', '/org_x/projects?q=1', '/apiary']) {
      const answer = await ask(hub, path, { headers })
      expect(answer.status).toBe(503)
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(answer.headers.get('refresh')).toBe('2')
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.text).toContain('The hub is starting or stopping. This page loads again by itself.')
      const [, style] = /<style>([^<]*)<\/style>/.exec(answer.text)!
      const hash = createHash('sha256').update(style!).digest('base64')
      expect(answer.headers.get('content-security-policy')).toBe(
        `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; frame-ancestors 'none'`,
      )
    }
    for (const path of ['/api/config.json', '/api', '/assets/x.js'])
      expect((await ask(hub, path, { headers })).json()).toMatchObject({ kind: 'Internal' })
    expect((await ask(hub, '/', { method: 'POST', headers })).json()).toMatchObject({ kind: 'Internal' })
  })
})

it('O21: a hub that starts logs one line for all requests that it refuses, and no error', async () => {
  const { log, lines } = capturedLog('info')
  const hub = await listener(() => undefined, log)
  for (const path of ['/', '/api/config.json', '/api/v1/live', '/api/v1/actions/invoke/actor_GetActor'])
    expect((await ask(hub, path, { method: path.includes('invoke') ? 'POST' : 'GET' })).status).toBe(503)
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    ['info', 'requests are refused while the hub starts or stops'],
  ])
})

describe('a hub that stops', () => {
  it('answers a request that arrived before with 503 and logs no TypeError', async () => {
    const captured = capturedLog()
    let asked = 0
    // This `core` simulates a hub that runs when the request arrives, and has stopped when the body has been read.
    const core = (): Core | undefined => (asked++ === 0 ? ({} as Core) : undefined)
    const hub = await listener(core, captured.log)
    const answer = await ask(hub, '/api/v1/actions/invoke/actor_GetActor', { body: {} })
    expect(answer.status).toBe(503)
    expect(answer.json()).toMatchObject({ kind: 'Internal', message: 'The hub is starting or stopping.' })
    expect(JSON.stringify(captured.lines)).not.toContain('TypeError')
  })

  it('completes an action in flight and accepts no new one', async () => {
    const hub = await testHub()
    const owner = await hub.user()
    const projectId = await hub.project(owner, await hub.organization(owner))
    await using inTheWay = await databaseSession(hub)
    await inTheWay.lock('project')
    const renamed = owner.invoke('projects_SetName', { projectId, name: 'Last' })
    await inTheWay.waitingStatements(1)
    const stopped = hub[Symbol.asyncDispose]()
    const late = await ask(hub, '/api/v1/actions/invoke/projects_Query', { as: owner, body: {} })
    expect(late.status).toBe(503)
    await inTheWay.release()
    expect(await renamed).toEqual({})
    await stopped
  })

  it.each([
    ['permission check', 'project'],
    ['change', 'audit_event'],
  ])('waits at most a few seconds for a %s that does not end', { timeout: 40_000 }, async (_what, table) => {
    const hub = await testHub()
    const owner = await hub.user()
    const projectId = await hub.project(owner, await hub.organization(owner))
    await using inTheWay = await databaseSession(hub)
    await inTheWay.lock(table)
    const renamed = owner.invoke('projects_SetName', { projectId, name: 'Last' }).catch(() => 'lost')
    await inTheWay.waitingStatements(1)
    const from = performance.now()
    await hub[Symbol.asyncDispose]()
    expect(performance.now() - from).toBeLessThan(15_000)
    expect(await renamed).toBe('lost')
  })
})
