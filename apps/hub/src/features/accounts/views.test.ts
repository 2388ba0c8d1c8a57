import { failed, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let projectId: string
let other: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  const organizationId = await hub.organization(owner)
  projectId = await hub.project(owner, organizationId)
  other = await hub.project(owner, organizationId)
})
afterAll(() => hub[Symbol.asyncDispose]())

it("keeps a person's columns and order of a project without an audit row, and shows them to no other person", async () => {
  const columns = [
    { column: 'status' as const, widthPx: 150 },
    { property: 'app.modem.signal' },
    { property: 'status' },
  ]
  const auditRows = async () => (await hub.pool.query('select from audit_action')).rows.length
  const before = await auditRows()
  expect(await owner.invoke('users_GetView', { projectId })).toEqual({})
  const view = { columns, nameWidthPx: 300, order: '-=app.modem.signal' }
  expect(await owner.invoke('users_SetView', { projectId, ...view })).toEqual({})
  expect(await owner.invoke('users_GetView', { projectId })).toEqual(view)
  expect(await owner.invoke('users_GetView', { projectId: other })).toEqual({})
  await owner.invoke('users_SetView', { projectId, columns: [] })
  expect(await owner.invoke('users_GetView', { projectId })).toEqual({ columns: [] })
  await owner.invoke('users_SetView', { projectId })
  expect(await owner.invoke('users_GetView', { projectId })).toEqual({})
  expect(await auditRows()).toBe(before)
})

it.each([
  [[{ column: 'name' }], 'columns.0'],
  [[{ property: '' }], 'columns.0'],
  [[{ column: 'status', widthPx: 0 }], 'columns.0'],
  [Array.from({ length: 9 }, (_, index) => ({ property: `p${index}` })), 'columns'],
  [[{ column: 'status' }, { column: 'status' }], 'columns'],
  [[{ property: 'site' }, { property: 'site', widthPx: 90 }], 'columns'],
  ['status', 'columns'],
])('refuses the columns %j', async (columns, path) => {
  const error = await failed(owner.invoke('users_SetView', { projectId, columns: columns as never }))
  expect(error).toMatchObject({ kind: 'Invalid' })
  expect((error as { issues: { path: string }[] }).issues[0]!.path).toMatch(new RegExp(`^${path}`))
})

it('S25: leaves out kept columns and a kept order of more than 8 parts, and says which', async () => {
  const { userId } = owner
  const long = Array.from({ length: 9 }, (_, at) => `p${at}`).join('.')
  const columns = [{ column: 'status' as const }, { property: long, widthPx: 90 }, { property: 'a.b' }]
  // An older release stored them.
  await hub.db.deleteFrom('user_view').execute()
  await hub.db
    .insertInto('user_view')
    .values({ user_id: userId, project_id: projectId, columns: JSON.stringify(columns), sort: `-=${long}` })
    .execute()
  const view = { columns: [{ column: 'status' as const }, { property: 'a.b' }] }
  expect(await owner.invoke('users_GetView', { projectId })).toEqual({ ...view, leftOut: [long] })
  await owner.invoke('users_SetView', { projectId, ...view })
  expect(await owner.invoke('users_GetView', { projectId })).toEqual(view)
})

it('S25: bounds the parts of a path: 8 of a column or an order, 32 of a condition', async () => {
  const parts = (count: number) => Array.from({ length: count }, () => 'p').join('.')
  const query = (input: object) => owner.invoke('projects_QueryDevices', { projectId, limit: 10, ...input })
  const where = (property: string) => ({
    filter: { properties: [{ property, operator: 'exists' as const }] },
  })
  await query({ columns: [parts(8)], sort: `=${parts(8)}`, ...where(parts(32)) })
  await owner.invoke('users_SetView', { projectId, columns: [{ property: parts(8) }], order: `=${parts(8)}` })
  for (const [call, message] of [
    [query({ columns: [parts(9)] }), 'columns.0: expected at most 8 parts between dots'],
    [query({ columns: ['p.'.repeat(128)] }), 'columns.0: expected at most 8 parts between dots'],
    [query({ sort: `-=${parts(9)}` }), 'sort: expected a property of at most 8 parts between dots'],
    [query(where(parts(33))), 'filter.properties.0.property: expected at most 32 parts between dots'],
    [owner.invoke('users_SetView', { projectId, columns: [{ property: parts(9) }] }), 'columns.0'],
    [owner.invoke('users_SetView', { projectId, order: `=${parts(9)}` }), 'order: expected a property of at'],
  ] as const) {
    const error = await failed(call)
    expect(error).toMatchObject({ kind: 'Invalid' })
    expect((error as Error).message).toContain(message)
  }
})
