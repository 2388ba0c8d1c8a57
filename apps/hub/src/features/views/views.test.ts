import type { ActionInput } from '@muster/actions'
import { readPredicate } from '@muster/predicates'
import { auditEvents, type TestHub, type TestUser, testHub, viewRow } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadConfig } from '../../platform/config/config.ts'

let hub: TestHub
let owner: TestUser
let colleague: TestUser
let admin: TestUser
let projectId: string

const VIEW: Omit<ActionInput<'views_Create'>, 'projectId'> = {
  name: 'Pier 4, not on 2.24.1',
  conditions: { predicate: readPredicate('label.site = "pier4" and not device.version = "2.24.1"') },
  columns: [{ column: 'status' }, { property: 'label.site', widthPx: 120 }],
  order: '-name',
  isShared: false,
  isInRow: true,
}

beforeAll(async () => {
  const limits = { ...loadConfig({}).limits, 'project-shared-views': 4, 'person-project-views': 3 }
  hub = await testHub({ limits })
  owner = await hub.user()
  colleague = await hub.user()
  const organizationId = await hub.organization(owner, [colleague])
  projectId = await hub.project(owner, organizationId)
  admin = await hub.user({ isAdmin: true })
})
afterAll(() => hub[Symbol.asyncDispose]())

const namesFor = async (person: TestUser) =>
  (await person.invoke('views_Query', { projectId })).views.map(({ name }) => name)

it('keeps a private view for its owner only, and records no event with its name', async () => {
  const { viewId } = await owner.invoke('views_Create', { projectId, ...VIEW })
  expect(await owner.invoke('views_Get', { projectId, viewId })).toMatchObject({
    result: 'Found',
    view: { viewId, ...VIEW, ownerId: owner.userId, mayChange: true },
  })
  for (const other of [colleague, admin]) {
    expect(await namesFor(other)).toEqual([])
    await expect(other.invoke('views_Get', { projectId, viewId })).rejects.toMatchObject({
      kind: 'Forbidden',
    })
    await expect(other.invoke('views_Set', { projectId, viewId, ...VIEW })).rejects.toMatchObject({
      kind: 'Forbidden',
    })
    await expect(other.invoke('views_Delete', { projectId, viewId })).rejects.toMatchObject({
      kind: 'Forbidden',
    })
  }
  await owner.invoke('views_Set', { projectId, viewId, ...VIEW, name: 'Pier 4' })
  await owner.invoke('views_Delete', { projectId, viewId })
  expect(await owner.invoke('views_Get', { projectId, viewId })).toMatchObject({
    result: 'Deleted',
    name: 'Pier 4',
  })
  expect(await namesFor(owner)).toEqual([])
  expect((await auditEvents(hub)).filter(({ event }) => event.startsWith('views_'))).toEqual([])
})

it('shows a shared view to everyone in the project, and tells who has deleted it', async () => {
  const { viewId } = await owner.invoke('views_Create', { projectId, ...VIEW, isShared: true })
  expect(await colleague.invoke('views_Get', { projectId, viewId })).toMatchObject({
    view: { mayChange: true, ownerName: expect.any(String) },
  })
  expect(await admin.invoke('views_Get', { projectId, viewId })).toMatchObject({ view: { mayChange: false } })
  await expect(admin.invoke('views_Delete', { projectId, viewId })).rejects.toMatchObject({
    kind: 'Forbidden',
  })
  await expect(admin.invoke('views_Create', { projectId, ...VIEW, isShared: true })).rejects.toMatchObject({
    kind: 'Forbidden',
  })
  await colleague.invoke('views_Set', { projectId, viewId, ...VIEW, name: 'Pier 4', isShared: true })
  await colleague.invoke('views_Delete', { projectId, viewId })
  expect(await owner.invoke('views_Get', { projectId, viewId })).toMatchObject({
    result: 'Deleted',
    name: 'Pier 4',
    actor: { userId: colleague.userId },
  })
  expect(await auditEvents(hub, 'views_Created')).toMatchObject([{ data: { viewId, name: VIEW.name } }])
  expect(await auditEvents(hub, 'views_Changed')).toMatchObject([{ data: { viewId, name: 'Pier 4' } }])
  expect(await auditEvents(hub, 'views_Deleted')).toMatchObject([{ data: { viewId } }])
})

it('makes a shared view private for who takes it back', async () => {
  const { viewId } = await owner.invoke('views_Create', { projectId, ...VIEW, isShared: true })
  await colleague.invoke('views_Set', { projectId, viewId, ...VIEW, isShared: false })
  await expect(owner.invoke('views_Get', { projectId, viewId })).rejects.toMatchObject({ kind: 'Forbidden' })
  expect(await namesFor(colleague)).toEqual([VIEW.name])
  await colleague.invoke('views_Delete', { projectId, viewId })
})

it('refuses views beyond the limits of a person and of a project, each by itself', async () => {
  for (let count = 0; count < 3; count++) await owner.invoke('views_Create', { projectId, ...VIEW })
  await expect(owner.invoke('views_Create', { projectId, ...VIEW })).rejects.toThrow(
    'Limit person-project-views: found 4, expected at most 3 views. Delete a view that nobody uses.',
  )
  const made = []
  for (let count = 0; count < 4; count++)
    made.push(await owner.invoke('views_Create', { projectId, ...VIEW, isShared: true }))
  await expect(colleague.invoke('views_Create', { projectId, ...VIEW, isShared: true })).rejects.toThrow(
    'Limit project-shared-views: found 5, expected at most 4 views.',
  )
  const { viewId } = await colleague.invoke('views_Create', { projectId, ...VIEW })
  await expect(colleague.invoke('views_Set', { projectId, viewId, ...VIEW, isShared: true })).rejects.toThrow(
    'Limit project-shared-views',
  )
  for (const view of made) await owner.invoke('views_Delete', { projectId, ...view })
})

it('removes deleted views after 90 days, and views that nobody sees', async () => {
  const leaver = await hub.user()
  const left = await viewRow(hub, projectId, { ownerId: leaver.userId, name: 'of a leaver' })
  const kept = await viewRow(hub, projectId, { name: 'shared' })
  const gone = await viewRow(hub, projectId, { name: 'deleted' })
  await hub.pool.query(`update device_view set deleted_at = now() - interval '91 d' where view_id = $1`, [
    gone,
  ])
  await hub.pool.query(`delete from "user" where user_id = $1`, [leaver.userId])
  await hub.runJob('instance_CleanupExpired', {})
  const { rows } = await hub.pool.query('select view_id from device_view where view_id = any ($1)', [
    [left, kept, gone],
  ])
  expect(rows).toEqual([{ view_id: kept }])
})

it.each<[string, Record<string, unknown>, string]>([
  ['a name without a visible character', { name: '\u200b' }, 'name'],
  ['a wrong predicate', { conditions: { predicate: { kind: 'Literal', value: 1 } } }, 'conditions.predicate'],
  ['an order by nothing', { order: 'nothing' }, 'order'],
  ['a column twice', { columns: [{ column: 'status' }, { column: 'status' }] }, 'columns'],
  ['a column that does not exist', { columns: [{ column: 'nothing' }] }, 'columns'],
])('refuses %s', async (_, wrong, path) => {
  await expect(
    owner.invoke('views_Create', { projectId, ...VIEW, ...wrong } as ActionInput<'views_Create'>),
  ).rejects.toMatchObject({ kind: 'Invalid', issues: [{ path: expect.stringContaining(path) }] })
})
