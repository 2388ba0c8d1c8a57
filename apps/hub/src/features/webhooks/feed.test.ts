import { type ActionOutput, newDatedId } from '@muster/actions'
import {
  databaseSession,
  failed,
  secondNode,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maintainOutbox } from './jobs/MaintainOutbox.ts'
import { whileSessionsEnd } from './testing/ended-sessions.ts'
import { holdAfterRestore } from './upkeep.ts'

let hub: TestHub
let owner: TestUser

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
})
afterAll(() => hub[Symbol.asyncDispose]())

type Events = ActionOutput<'events_Query'>['events']

/** An organization with a project, whose feed is on. */
async function follow(): Promise<{ organizationId: string; projectId: string; cursor: string }> {
  const organizationId = await hub.organization(owner)
  const projectId = await hub.project(owner, organizationId)
  await owner.invoke('events_SetFeed', { organizationId, isOn: true })
  // The feed has the event of its own change.
  const { cursor } = await owner.invoke('events_Query', { organizationId, waitSecs: 10 })
  return { organizationId, projectId, cursor }
}

const rename = (projectId: string, name: string) => owner.invoke('projects_SetName', { projectId, name })

/** Reads a feed to its end, in small pages. */
async function readAll(organizationId: string, after?: string): Promise<Events> {
  const all: Events = []
  for (;;) {
    const page = await owner.invoke('events_Query', { organizationId, limit: 7, ...(after && { after }) })
    if (page.events.length === 0) return all
    all.push(...page.events)
    after = page.cursor
  }
}

const positionsOf = (events: Events) => events.map(({ position }) => position)

describe('the outbox', () => {
  it('copies the audit events of organizations that are read, and of no others', async () => {
    const quiet = await hub.organization(owner)
    const quietProject = await hub.project(owner, quiet)
    const { organizationId, projectId, cursor } = await follow()
    await rename(quietProject, 'Quiet')
    await rename(projectId, 'Harbor')
    const { events } = await owner.invoke('events_Query', { organizationId, after: cursor, waitSecs: 10 })
    const { rows } = await hub.pool.query(
      "select event_id, action_id from audit_event where project_id = $1 and event = 'projects_NameChanged'",
      [projectId],
    )
    expect(events).toEqual([
      {
        messageId: rows[0].event_id.replace('audit_ev_', 'msg_'),
        type: 'projects.NameChanged',
        timestamp: expect.any(String),
        position: 2,
        cursor: expect.any(String),
        data: {
          eventId: rows[0].event_id,
          actionId: rows[0].action_id,
          organizationId,
          projectId,
          actor: { actor: 'User', userId: owner.userId },
          data: { projectId, name: 'Harbor' },
          old: { name: 'Test project' },
        },
      },
    ])
    const copied = await hub.pool.query('select from outbox where organization_id = $1', [quiet])
    expect(copied.rowCount).toBe(0)
    await owner.invoke('events_SetFeed', { organizationId, isOn: false })
    await rename(projectId, 'Unread')
    const last = await hub.pool.query(
      'select max(type) as type, count(*)::int as count from outbox where organization_id = $1',
      [organizationId],
    )
    expect(last.rows).toEqual([{ type: 'projects.NameChanged', count: 2 }])
  })

  it('gives a message whose transaction commits later a later position', async () => {
    const { organizationId, projectId, cursor } = await follow()
    await using slow = await databaseSession(hub)
    await slow.query('begin')
    await insertEvents(slow.query, organizationId, 1, 'slow.Event')
    await rename(projectId, 'Fast')
    const first = await owner.invoke('events_Query', { organizationId, after: cursor, waitSecs: 10 })
    expect(first.events.map(({ type }) => type)).toEqual(['projects.NameChanged'])
    await slow.query('commit')
    const second = await owner.invoke('events_Query', { organizationId, after: first.cursor, waitSecs: 10 })
    expect(second.events.map(({ type, position }) => [type, position])).toEqual([['slow.Event', 3]])
  })

  it('loses and doubles nothing while nodes number at once and their sessions are ended at any statement', async () => {
    const { organizationId, cursor } = await follow()
    await using node = await secondNode(hub)
    node.services.dispatcher.readersChanged()
    await using session = await databaseSession(hub)
    const wake = () => {
      for (const { services } of [hub, node]) services.dispatcher.wake()
    }
    await whileSessionsEnd(hub, { statements: 'outbox', wake, pauseMs: 20 }, async () => {
      for (let batch = 0; batch < 60; batch++)
        await insertEvents(session.query, organizationId, 50, 'load.Event')
    })
    const events = await until('all are numbered', async () => {
      hub.services.dispatcher.wake()
      const all = await readAll(organizationId, cursor).catch(() => [])
      return all.length >= 3000 && all
    })
    expect(new Set(events.map(({ messageId }) => messageId)).size).toBe(3000)
    expect(positionsOf(events)).toEqual(Array.from({ length: 3000 }, (_, at) => at + 2))
  })

  it('removes messages after 30 days, and refuses a cursor of those', async () => {
    const { organizationId, cursor } = await follow()
    await using session = await databaseSession(hub)
    await insertEvents(session.query, organizationId, 3, 'old.Event')
    await until('they are numbered', async () => (await readAll(organizationId)).length === 4)
    const { rows } = await hub.pool.query(
      "select to_char(max(created_at), 'YYYYMMDD') as day from outbox where organization_id = $1",
      [organizationId],
    )
    expect(
      (await hub.pool.query(`select from outbox_${rows[0].day} where organization_id = $1`, [organizationId]))
        .rowCount,
    ).toBe(4)
    // The day before yesterday, with its rows.
    await hub.pool.query(
      `
      with old as (delete from outbox where organization_id = $1 and type = 'old.Event' returning *)
      insert into outbox select message_id, organization_id, project_id, type, ids, actor, data, old_data, created_at - interval '2 days', position from old`,
      [organizationId],
    )
    await maintainOutbox(hub.db, { pauseMs: 50, tries: 50 }, 1)
    expect(await failed(owner.invoke('events_Query', { organizationId, after: cursor }))).toMatchObject({
      kind: 'Invalid',
      status: 410,
      issues: [{ path: 'after', message: expect.stringContaining('older than 30 days') }],
    })
    expect(await readAll(organizationId)).toEqual([])
  })
})

describe('the feed', () => {
  it('answers a waiting request when the next event is committed, on this or another node', async () => {
    const { organizationId, projectId, cursor } = await follow()
    await using node = await secondNode(hub)
    for (const [name, run] of [
      ['here', () => rename(projectId, 'here')],
      [
        'there',
        () => node.pipeline.run({ actor: 'System' }, 'projects_SetName', { projectId, name: 'there' }),
      ],
    ] as const) {
      const { cursor: after } = await owner.invoke('events_Query', { organizationId, from: 'Now' })
      const answer = owner.invoke('events_Query', { organizationId, after, waitSecs: 20 })
      await until('it waits', () => hub.services.feedWaits.waitingCount === 1)
      await run()
      const { events } = await answer
      expect(events.map(({ data }) => data.data)).toEqual([{ projectId, name }])
    }
    expect(await readAll(organizationId, cursor)).toHaveLength(2)
  })

  it('answers without events at the deadline of the request, and goes on after it', async () => {
    const { organizationId, projectId, cursor } = await follow()
    const answer = await owner.invoke('events_Query', { organizationId, after: cursor, waitSecs: 1 })
    expect(answer).toEqual({ events: [], cursor })
    await rename(projectId, 'Later')
    const next = await owner.invoke('events_Query', { organizationId, after: answer.cursor, waitSecs: 10 })
    expect(next.events).toHaveLength(1)
  })

  it('passes events of other types, and is not held up by them', async () => {
    const { organizationId, projectId, cursor } = await follow()
    await rename(projectId, 'One')
    await hub.repository(owner, organizationId, { name: `r-${organizationId.toLowerCase().slice(4, 20)}` })
    const ofRepositories = { organizationId, after: cursor, types: ['repositories.*'], waitSecs: 10 }
    const { events, cursor: after } = await owner.invoke('events_Query', ofRepositories)
    expect(events.map(({ type }) => type)).toEqual(['repositories.Created'])
    await rename(projectId, 'Two')
    await until('the other event is passed', async () => {
      const page = await owner.invoke('events_Query', { ...ofRepositories, after, waitSecs: 0 })
      return page.events.length === 0 && page.cursor !== after
    })
    const renamed = { organizationId, after: cursor, types: ['projects.NameChanged'] }
    expect((await owner.invoke('events_Query', renamed)).events).toHaveLength(2)
    await expect(owner.invoke('events_Query', { organizationId, types: ['all'] })).rejects.toMatchObject({
      kind: 'Invalid',
      issues: [{ path: 'types.0' }],
    })
  })

  it('answers the events of a project only, to those who may view it', async () => {
    const { organizationId, projectId, cursor } = await follow()
    const other = await hub.project(owner, organizationId, 'Other')
    await rename(other, 'Other 2')
    await rename(projectId, 'Mine')
    const input = { organizationId, projectId, after: cursor }
    const events = await until('it is numbered', async () => {
      const page = await owner.invoke('events_Query', input)
      return page.events.length > 0 && page.events
    })
    expect(events.map(({ data }) => data.data)).toEqual([{ projectId, name: 'Mine' }])
    const stranger = await hub.user()
    expect(await failed(stranger.invoke('events_Query', input))).toMatchObject({ kind: 'Forbidden' })
    expect(await failed(stranger.invoke('events_SetFeed', { organizationId, isOn: true }))).toMatchObject({
      kind: 'Forbidden',
    })
    const { projectId: foreign } = await follow()
    expect(await failed(owner.invoke('events_Query', { ...input, projectId: foreign }))).toMatchObject({
      kind: 'Forbidden',
    })
  })

  it('refuses cursors from before a restore and from before it was turned off, and those that are none', async () => {
    const { organizationId, cursor } = await follow()
    const refusal = (after: string) => failed(owner.invoke('events_Query', { organizationId, after }))
    await using session = await databaseSession(hub)
    await holdAfterRestore({ query: async (text: string) => ({ rows: await session.query(text) }) } as never)
    expect(await refusal(cursor)).toMatchObject({ status: 410, issues: [{ path: 'after' }] })
    const { cursor: restored } = await owner.invoke('events_Query', { organizationId })
    await owner.invoke('events_SetFeed', { organizationId, isOn: true })
    expect((await owner.invoke('events_Query', { organizationId, after: restored })).cursor).toContain('.')
    await owner.invoke('events_SetFeed', { organizationId, isOn: false })
    expect(await owner.invoke('events_GetFeed', { organizationId })).toEqual({ isOn: false })
    expect(await refusal(restored)).toMatchObject({ status: 409, message: expect.stringContaining('is off') })
    await owner.invoke('events_SetFeed', { organizationId, isOn: true })
    expect(await refusal(restored)).toMatchObject({ status: 410 })
    for (const wrong of ['x', 'e.1.2', `${'e'.repeat(65)}.1`, 'e.-1'])
      expect(await refusal(wrong)).toMatchObject({ status: 400, issues: [{ path: 'after' }] })
  })

  it('refuses more waiting requests of a person than their limit, and of nobody else', async () => {
    const colleague = await hub.user()
    const organizationId = await hub.organization(owner, [colleague])
    await owner.invoke('events_SetFeed', { organizationId, isOn: true })
    const { cursor: after } = await owner.invoke('events_Query', { organizationId, waitSecs: 10 })
    const wait = (person: TestUser) => person.invoke('events_Query', { organizationId, after, waitSecs: 20 })
    const waiting = Array.from({ length: 8 }, () => wait(owner))
    await until('all wait', () => hub.services.feedWaits.waitingCount === 8)
    expect(await failed(wait(owner))).toMatchObject({
      kind: 'RateLimited',
      message: expect.stringContaining('Limit person-feed-waits: found 9, expected at most 8 requests.'),
    })
    waiting.push(wait(colleague))
    await until('all wait', () => hub.services.feedWaits.waitingCount === 9)
    await hub.project(owner, organizationId)
    for (const { events } of await Promise.all(waiting)) expect(events).toHaveLength(1)
  })

  it('leaves out what is too large, and says so', async () => {
    const { organizationId, cursor } = await follow()
    await using session = await databaseSession(hub)
    for (const bytes of [12_000, 30_000])
      await session.query(
        `insert into audit_event (event_id, event, actor, data, old_data, organization_id)
         values ($1, 'large_Event', '{"actor": "System"}', $2::text::jsonb, $2::text::json, $3)`,
        [newDatedId('audit_ev'), JSON.stringify({ text: 'x'.repeat(bytes) }), organizationId],
      )
    const events = await until('both are numbered', async () => {
      const all = await readAll(organizationId, cursor)
      return all.length === 2 && all
    })
    expect(events.map(({ data }) => [data.isCut, Object.keys(data.data as object), data.old])).toEqual([
      [true, ['text'], undefined],
      [true, [], undefined],
    ])
  })
})

/** Inserts audit events as a writer that the hub does not know. */
async function insertEvents(
  query: (text: string, values: unknown[]) => Promise<unknown>,
  organizationId: string,
  count: number,
  type: string,
): Promise<void> {
  const ids = Array.from({ length: count }, () => newDatedId('audit_ev'))
  await query(
    `insert into audit_event (event_id, event, actor, data, organization_id, created_at)
     select id, $3, '{"actor": "System"}', '{}', $2, clock_timestamp() from unnest($1::text[]) id`,
    [ids, organizationId, type.replace('.', '_')],
  )
}
