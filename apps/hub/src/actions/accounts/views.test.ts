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
