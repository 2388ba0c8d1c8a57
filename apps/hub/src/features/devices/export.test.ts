import { request } from 'node:http'
import { ask, databaseSession, deviceRow, type TestHub, type TestUser, testHub, until } from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const EVENTS = 1_234
const LOG = '/api/v1/export/projects_QueryAuditLog'

let hub: TestHub
let ada: TestUser
let organizationId: string
let projectId: string

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user({ displayName: 'Ada, "Countess"' })
  organizationId = await hub.organization(ada)
  projectId = await hub.project(ada, organizationId)
  await events(projectId, EVENTS, 'AAA')
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Inserts `count` audit events about renamed devices, a second apart. */
async function events(project: string, count: number, series: string): Promise<void> {
  await sql`
    insert into audit_event (event_id, event, actor, data, project_id, created_at)
    select 'audit_ev_20200101-0000-' || ${series}::text || translate((10000 + n)::text, '0', 'z'), 'devices_NameChanged',
           '{"actor":"System"}', jsonb_build_object('deviceId', 'd', 'name', 'x' || n), ${project},
           '2020-01-01'::timestamptz + n * interval '1 s' from generate_series(1, ${count}::int) n`.execute(
    hub.db,
  )
}

const asked = (path: string, input: unknown): string =>
  `${path}?input=${encodeURIComponent(JSON.stringify(input))}`

/** Fields of a CSV text by RFC 4180. */
function parsedCsv(text: string): string[][] {
  const lines: string[][] = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    lines.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!)
    if (end === '\r\n') lines.push([])
  }
  return lines.slice(0, -1)
}

describe('an export', () => {
  it('has every row of a long log as a line of JSON, equal to the output of the action', async () => {
    const answer = await ask(hub, asked(`${LOG}.jsonl`, { projectId }), { as: ada })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/jsonl; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="projects_QueryAuditLog-\d{4}-\d\d-\d\d\.jsonl"$/,
    )
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.text.endsWith('}\n')).toBe(true)
    const rows = answer.text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { eventId: string })
    expect(rows).toHaveLength(EVENTS + 1)
    expect(new Set(rows.map(row => row.eventId)).size).toBe(EVENTS + 1)
    const { events } = await ada.invoke('projects_QueryAuditLog', { projectId, limit: 500 })
    expect(rows.slice(0, 500)).toEqual(events)
  })

  it('as CSV has a header, one line per row and JSON in cells with objects', async () => {
    const answer = await ask(
      hub,
      asked(`${LOG}.csv`, { projectId, filter: { types: ['projects_Created'] } }),
      {
        as: ada,
      },
    )
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    const [header, row, ...more] = parsedCsv(answer.text)
    expect(header).toEqual([
      'eventId',
      'actor',
      'actorName',
      'tokenName',
      'event',
      'data',
      'createdAt',
      'action',
      'job',
      'status',
      'reason',
      'owners',
      'old',
      'address',
      'browser',
      'seal',
    ])
    expect(more).toEqual([])
    expect(row).toMatchObject([
      expect.stringMatching(/^audit_ev_/),
      JSON.stringify({ actor: 'User', userId: ada.userId }),
      'Ada, "Countess"',
      '',
      'projects_Created',
      JSON.stringify({ projectId }),
      expect.stringMatching(/^\d{4}-.*Z$/),
      expect.stringMatching(/^{"actionId":"audit_act_/),
      ...['', '', '', '', ''],
      '127.0.0.1',
      expect.any(String),
      '',
    ])
  })

  it('S34: as CSV has no cell that a spreadsheet would run as a formula, with either separator', async () => {
    const names = [
      '=1+1',
      '+1',
      '-1',
      '@SUM(A1)',
      '\t=1',
      'a\r\nb',
      'plain',
      '"=1"',
      '  =1',
      'x;=1+1;y',
      'x; "@SUM(A1)"',
      'x;\t=1+1',
      '\uFF1D1+1',
      'a\n\uFF0B1',
      'a;b',
      '한국어 🙂',
      'a,b',
    ]
    const list = await hub.project(ada, organizationId, 'Names')
    // No form of the console accepts these names, but an import or an older version of the hub may have stored them.
    for (const name of names) await deviceRow(hub, list, { name, pendingCertificates: 2 })
    const { text } = await ask(hub, asked('/api/v1/export/projects_QueryDevices.csv', { projectId: list }), {
      as: ada,
    })
    const [header, ...rows] = parsedCsv(text)
    const cells = rows.map(row => row[header!.indexOf('name')]!)
    const guarded: Record<string, string> = {
      '"=1"': `'"=1"`,
      '  =1': "'  =1",
      'x;=1+1;y': "x;'=1+1;y",
      'x; "@SUM(A1)"': `x;' "@SUM(A1)"`,
      'x;\t=1+1': "x;'\t=1+1",
      '\uFF1D1+1': "'\uFF1D1+1",
      'a\n\uFF0B1': "a\n'\uFF0B1",
    }
    expect(cells.toSorted()).toEqual(
      names.map(name => guarded[name] ?? (/^[=+\-@\t]/.test(name) ? `'${name}` : name)).toSorted(),
    )
    expect(rows.flat().filter(cell => /^[=+\-@\t\r]/.test(cell))).toEqual([])
    // Where `;` separates cells, lines and cells begin at every line break and semicolon, also within quotes.
    expect(
      text.split(/[;\r\n]/).filter(cell => /^[" \t]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/.test(cell)),
    ).toEqual([])
    expect(rows.map(row => row[header!.indexOf('pendingCertificatesCount')])).toEqual(names.map(() => '2'))
  })

  it('S34: as CSV begins with a byte order mark, and guards texts inside JSON without changing their value', async () => {
    const deviceId = await deviceRow(hub, projectId)
    const body = { note: 'x;=1+1;y', other: ';"=1"', plain: 'a;b' }
    await sql`insert into device_event (device_id, event_id, event_day, severity, body, attributes, emitted_at)
      values (${deviceId}, 'd_ev_20261121-0800-vKawAqYy', '2026-11-21', 'Info', ${JSON.stringify(body)}::json, '{}',
              '2026-11-21T08:00:00Z')`.execute(hub.db)
    const path = asked('/api/v1/export/devices_QueryEvents.csv', { deviceId })
    const answer = await fetch(hub.url + path, { headers: { cookie: ada.cookie, origin: hub.url } })
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect(bytes.subarray(0, 3).toString('hex')).toBe('efbbbf')
    const text = bytes.subarray(3).toString()
    const [header, row] = parsedCsv(text)
    expect(JSON.parse(row![header!.indexOf('body')]!)).toEqual(body)
    expect(text.split(/[;\r\n]/).filter(cell => /^[\\" ]*[=+\-@]/.test(cell))).toEqual([])
  })

  it('keeps the exact text of numbers', async () => {
    const deviceId = await deviceRow(hub, projectId)
    await sql`insert into device_event (device_id, event_id, event_day, severity, body, attributes, emitted_at)
      values (${deviceId}, 'd_ev_20261121-0800-vKawAqYx', '2026-11-21', 'Info',
              '{"big": 12345678901234567890, "one": 1.0,\n"text": "1.0"}', '{}', '2026-11-21T08:00:00Z')`.execute(
      hub.db,
    )
    const { text } = await ask(hub, asked('/api/v1/export/devices_QueryEvents.jsonl', { deviceId }), {
      as: ada,
    })
    expect(text).toContain('"body":{"big":12345678901234567890,"one":1.0,"text":"1.0"}')
    expect(text.match(/\n/g)).toHaveLength(1)
  })

  it('does not include rows that are added after its start', async () => {
    const { text } = await ask(hub, asked(`${LOG}.jsonl`, { projectId, sort: 'createdAt' }), { as: ada })
    const before = text.trimEnd().split('\n').length
    await sql`insert into audit_event (event_id, event, actor, data, project_id, created_at)
      values ('audit_ev_20991231-0000-AAAAAAAA', 'devices_NameChanged', '{"actor":"System"}', '{}', ${projectId}, now() + interval '1 hour')`.execute(
      hub.db,
    )
    const again = await ask(
      hub,
      asked(`${LOG}.jsonl`, { projectId, sort: 'createdAt', filter: { until: null } }),
      {
        as: ada,
      },
    )
    expect(again.text.trimEnd().split('\n')).toHaveLength(before)
    const later = new Date(Date.now() + 2 * 60 * 60 * 1000).toISOString()
    const { text: all } = await ask(hub, asked(`${LOG}.jsonl`, { projectId, filter: { until: later } }), {
      as: ada,
    })
    expect(all.trimEnd().split('\n')).toHaveLength(before + 1)
  })

  it('is refused like the action, before any row is sent', async () => {
    const outsider = await hub.user()
    const refused = await ask(hub, asked(`${LOG}.csv`, { projectId }), { as: outsider })
    expect(refused.status).toBe(403)
    expect(refused.json()).toMatchObject({ kind: 'Forbidden' })
    expect(refused.headers.get('content-disposition')).toBeNull()
    expect((await ask(hub, asked(`${LOG}.csv`, { projectId }))).status).toBe(401)
    const foreign = await ask(hub, asked(`${LOG}.csv`, { projectId }), {
      as: ada,
      headers: { origin: 'https://elsewhere.example' },
    })
    expect(foreign.status).toBe(403)
    const token = await hub.userToken(ada)
    expect((await ask(hub, asked(`${LOG}.csv`, { projectId }), { token })).status).toBe(200)
  })

  it.each([
    ['/api/v1/export/projects_SetName.csv', 404],
    ['/api/v1/export/users_GetDetails.csv', 404],
    ['/api/v1/export/projects_QueryAuditLog.xml', 404],
    ['/api/v1/export/projects_QueryAuditLog.toString', 404],
    ['/api/v1/export/constructor.csv', 404],
    ['/api/v1/export/projects_QueryAuditLog', 404],
    [`${LOG}.csv?input=`, 400],
    [`${LOG}.csv?input=nonsense`, 400],
    [`${LOG}.csv?input=[]`, 400],
    [`${LOG}.csv?input=null`, 400],
    [`${LOG}.csv?input={}`, 400],
    [`${LOG}.csv?input={"projectId":1}`, 400],
    [`${LOG}.csv?input={"filter":"x"}`, 400],
    [`${LOG}.csv?input=${'['.repeat(10_000)}`, 400],
    [`${LOG}.csv?input={"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 400],
    [`${LOG}.csv?input={}&input={}`, 400],
  ])('answers %s with %i', async (path, status) => {
    const answer = await ask(hub, path, { as: ada })
    expect(answer.status, answer.text).toBe(status)
    expect(answer.json()).toMatchObject({ kind: 'Invalid' })
  })

  it('breaks the connection, so that it does not look complete, when the caller loses the right', async () => {
    const long = await hub.project(ada, organizationId, 'Long')
    await events(long, 60_000, 'BBB')
    await using database = await databaseSession(hub)
    const response = await fetch(`${hub.url}${asked(`${LOG}.jsonl`, { projectId: long })}`, {
      headers: { cookie: ada.cookie },
    })
    expect(response.status).toBe(200)
    // Removes the caller's membership, and so the right to read, while one of the first pages of rows is read from the database.
    await database.lock('audit_event')
    await hub.db.deleteFrom('organization_member').where('organization_id', '=', organizationId).execute()
    await database.release()
    await expect(response.text()).rejects.toThrow('terminated')
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: ada.userId, is_admin: true })
      .execute()
  })

  it('stops its queries when the client disconnects', async () => {
    await using database = await databaseSession(hub)
    await database.lock('audit_event')
    const call = request(`${hub.url}${asked(`${LOG}.jsonl`, { projectId })}`, {
      headers: { cookie: ada.cookie },
    })
    call.on('error', () => {})
    call.end()
    await database.waitingStatements(1)
    call.destroy()
    await database.release()
    await until('no statement is running', async () => {
      const running = await database.query(
        `select from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`,
      )
      return running.length === 0
    })
    expect((await ask(hub, '/readyz')).status).toBe(200)
  })
})
