import { type Action, type ActionName, actions, newId } from '@muster/actions'
import {
  type AskOptions,
  ask,
  capturedLog,
  fakeS3,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { ACTION_ROWS } from '@muster/testkit/action-rows'
import type { Row as ActionRow, AuditWorld } from '@muster/testkit/action-rows/row'
import { actionWorld } from '@muster/testkit/action-rows/world'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Prefix of all secrets that the test puts into inputs. None of these secrets may be stored or logged. */
const PLANTED = 'planted-secret'
let planted = 0
const secret = (): string => `${PLANTED}-${planted++}-${newId('u')}`

const PROXY_SECRET = 'secret of the proxy in this test'
let addresses = 0
/** Headers with a new client address. One address gets 429 after 100 refused calls without credentials. */
const fromNewAddress = (): Record<string, string> => ({
  'x-forwarded-for': `10.0.${++addresses >> 8}.${addresses & 255}`,
  'x-muster-proxy-secret': PROXY_SECRET,
})

const captured = capturedLog()
let hub: TestHub
/** Administrator of the instance and of the test's organization. */
let root: TestUser
let world: AuditWorld
/** Secrets that the hub generated. */
const generated: string[] = []
/** Secrets in mails. They must not be stored, but they are logged: without a mail server the log shows the mailed links. */
const mailed: string[] = []

beforeAll(async () => {
  const here = ['127.0.0.0/8']
  const networks = { outboundAllow: here, webhooksAllow: here, otlpAllow: here }
  hub = await testHub({ ...networks, trustedProxies: ['127.0.0.1'], proxySecret: PROXY_SECRET }, captured.log)
  root = await hub.user({ isAdmin: true })
  const s3 = await fakeS3({ secretAccessKey: secret() })
  const people = { member: root, instanceAdmin: root }
  world = { ...(await actionWorld(hub, { ...people, s3 })), plant: secret, generated, mailed }
  const { organizationId } = world
  await root.invoke('organizations_SetMemberIsAdmin', { organizationId, userId: root.userId, isAdmin: true })
})
afterAll(async () => {
  await world.s3[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

const writing = (Object.keys(ACTION_ROWS) as ActionName[]).filter(name => actions[name].kind !== 'query')
const preferences = writing.filter(name => actions[name].kind === 'preference')
const names = writing.filter(name => !preferences.includes(name))

type Row = { action: string; status: string; actor: { actor: string }; data: object }

/** Runs an action over HTTP and finds the audit rows that the request left. */
async function runAudited(
  name: ActionName,
  body: unknown,
  options: AskOptions,
): Promise<{ status: number; text: string; rows: Row[] }> {
  const answer = await ask(hub, `/api/v1/actions/invoke/${name}`, { body, ...options })
  const rows = await hub.db
    .selectFrom('audit_action')
    .where('request_id', '=', answer.headers.get('x-request-id')!)
    .select(['action', 'status', 'actor', 'data'])
    .execute()
  return { status: answer.status, text: answer.text, rows: rows as Row[] }
}

it.each(preferences)('%s leaves no audit row', async name => {
  const body = await (ACTION_ROWS[name] as ActionRow<ActionName>).input(world, root)
  expect(await runAudited(name, body, { as: root })).toMatchObject({ status: 200, rows: [] })
})

describe('an audited action', () => {
  it.each(names)('%s leaves one audit row with its outcome and without secrets', async name => {
    const { audit, permission } = actions[name] as Action
    const { input, audited: auditedInput = input } = ACTION_ROWS[name] as ActionRow<ActionName>
    const body = (await auditedInput(world, root)) as Record<string, unknown>
    if (permission !== 'anyone') {
      const unauthenticated = await runAudited(name, body, { headers: fromNewAddress() })
      expect(unauthenticated.status).toBe(401)
      expect(unauthenticated.rows).toMatchObject([
        { action: name, status: 'Rejected', actor: { actor: 'Anonymous' } },
      ])
    }
    if (permission !== 'anyone' && permission !== 'user') {
      const otherTenant = await runAudited(name, body, { as: await hub.user() })
      expect(otherTenant.status).toBe(403)
      expect(otherTenant.rows).toMatchObject([{ action: name, status: 'Rejected', actor: { actor: 'User' } }])
    }
    const done = await runAudited(name, body, permission === 'anyone' ? {} : { as: root })
    expect(done.status, done.text).toBe(200)
    expect(done.rows).toMatchObject([{ action: name, status: 'Succeeded' }])
    const kept = Object.fromEntries(Object.entries(body).filter(([key]) => audit.includes(key)))
    expect(done.rows[0]!.data).toEqual(kept)
    const token = /"(?:token|jwt)":"([\w.-]+)"/.exec(done.text)?.[1]
    if (token) generated.push(token)
  })

  it('leaves a Failed row and no event when it fails', async () => {
    const alone = await hub.user()
    const own = await hub.organization(alone)
    const before = await events()
    const body = { organizationId: own, userId: alone.userId, isAdmin: false }
    const failed = await runAudited('organizations_SetMemberIsAdmin', body, { as: alone })
    expect(failed.rows).toMatchObject([{ status: 'Failed', data: body }])
    expect(await events()).toBe(before)
  })

  it('is Rejected with a wrong password instead of a recent sign-in, which is not stored', async () => {
    const alone = await hub.user()
    const body = { userId: alone.userId, name: 'x', currentPassword: secret() }
    const { rows, status } = await runAudited('users_CreateToken', body, { as: alone })
    expect(status).toBe(403)
    expect(rows).toMatchObject([{ status: 'Rejected', data: { userId: alone.userId, name: 'x' } }])
  })

  it('leaves no row when its input is invalid', async () => {
    expect((await runAudited('projects_SetName', { projectId: world.projectId }, { as: root })).rows).toEqual(
      [],
    )
  })
})

describe('secrets', () => {
  it('are in no audit row, no job and no line of the log', async () => {
    generated.push(await hub.userToken(root), root.cookie.split('=')[1]!)
    await until('sending of all mails', async () => {
      const { rows } = await sql<{ open: number }>`
        select count(*)::int as open from pgboss.job where state < 'completed' and name like '%Email'`.execute(
        hub.db,
      )
      return rows[0]!.open === 0
    })
    const { rows } = await sql<{ text: string }>`
      select row_to_json(a)::text as text from audit_action a
      union all select row_to_json(e)::text from audit_event e
      union all select row_to_json(j)::text from pgboss.job j`.execute(hub.db)
    const stored = rows.map(row => row.text).join('\n')
    const kept = `${stored}\n${captured.lines.map(line => JSON.stringify(line)).join('\n')}`
    expect(planted).toBeGreaterThan(9)
    expect(generated.length).toBeGreaterThan(4)
    expect(mailed).toHaveLength(3)
    expect(kept).toContain('"users_SetPassword"')
    expect(kept).not.toContain(PLANTED)
    for (const one of generated) expect(kept.includes(one), one).toBe(false)
    for (const one of mailed) expect(stored.includes(one), one).toBe(false)
    expect(kept).not.toMatch(/\b(u_sk|u_session_sk|deployment|d_sk)_[1-9A-HJ-NP-Za-km-z]{44}/)
    expect(kept).not.toContain('$argon2')
  })
})

async function events(): Promise<number> {
  const { count } = await hub.db
    .selectFrom('audit_event')
    .where('event', 'like', 'organizations_Member%')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}
