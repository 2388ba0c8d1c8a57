import { MAX_PINS } from '@muster/actions'
import { auditEvents, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let projectId: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, projectId } = await hub.fleet())
})
afterAll(() => hub[Symbol.asyncDispose]())

it('keeps the pinned properties of each person in a project, in their order', async () => {
  expect(await owner.invoke('projects_GetPins', { projectId })).toEqual({
    properties: [],
    projectProperties: [],
  })
  const events = (await auditEvents(hub)).length
  await owner.invoke('projects_SetPins', { projectId, properties: ['app.mode', 'app.limits'] })
  await owner.invoke('projects_SetPins', { projectId, properties: ['app.limits', 'app.mode'] })
  expect(await owner.invoke('projects_GetPins', { projectId })).toEqual({
    properties: ['app.limits', 'app.mode'],
    projectProperties: [],
  })
  expect(await auditEvents(hub)).toHaveLength(events)
  const admin = await hub.user({ isAdmin: true })
  expect(await admin.invoke('projects_GetPins', { projectId })).toEqual({
    properties: [],
    projectProperties: [],
  })
})

it.each([
  ['more than the limit', Array.from({ length: MAX_PINS + 1 }, (_, index) => `app.p${index}`)],
  ['one twice', ['app.mode', 'app.mode']],
  ['an invalid name', ['app mode']],
])('rejects %s', async (_, properties) => {
  await expect(owner.invoke('projects_SetPins', { projectId, properties })).rejects.toMatchObject({
    kind: 'Invalid',
  })
})

it('keeps the pinned properties of a project for everyone, in their order', async () => {
  const properties = [{ name: 'site', label: 'Site' }, { name: 'app.mode' }]
  await owner.invoke('projects_SetPinnedProperties', { projectId, properties })
  const admin = await hub.user({ isAdmin: true })
  for (const person of [owner, admin])
    expect(await person.invoke('projects_GetPins', { projectId })).toMatchObject({
      projectProperties: properties,
    })
  await owner.invoke('projects_SetPinnedProperties', { projectId, properties: properties.toReversed() })
  expect(await auditEvents(hub, 'projects_PinnedPropertiesChanged')).toMatchObject([
    { data: { projectId, properties } },
    { data: { projectId, properties: properties.toReversed() } },
  ])
  const twice = [{ name: 'site' }, { name: 'site', label: 'Again' }]
  await expect(
    owner.invoke('projects_SetPinnedProperties', { projectId, properties: twice }),
  ).rejects.toMatchObject({
    kind: 'Invalid',
    status: 409,
    message: 'Found the property site twice, expected it once.',
  })
})
