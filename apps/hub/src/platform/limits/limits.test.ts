import { capturedLog, connectDevice, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { SYSTEM } from '../pipeline/caller.ts'
import { LimitReports } from './limit-reports.ts'
import { limitNames, settingOf } from './limits.ts'

const { limits } = loadConfig({})

it('S17: refuses to create an organization beyond the limit of a person, with an error that names the limit', async () => {
  const { log, named } = capturedLog()
  await using hub = await testHub({ limits: { ...limits, 'person-organizations': 2 } }, log)
  const person = await hub.user()
  const create = () => person.invoke('organizations_Create', { name: 'One more' })
  // Concurrent creations are serialized, so each creation counts the organizations committed before it.
  const results = await Promise.allSettled([create(), create(), create(), create(), create()])
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
  await expect(create()).rejects.toMatchObject({
    kind: 'Invalid',
    status: 409,
    message:
      'Limit person-organizations: found 3, expected at most 2 organizations. Delete an organization or hand one over first.',
  })

  await expect.poll(async () => (await eventsOf(hub)).length).toBe(1)
  expect(named('a limit was hit')).toMatchObject([
    { limit: 'person-organizations', userId: person.userId, count: 1 },
  ])
  expect(await eventsOf(hub)).toMatchObject([
    { actor: { actor: 'System' }, data: { limit: 'person-organizations', userId: person.userId, count: 1 } },
  ])
})

it('S17: limits everything that a person can create, with an error that names the limit', async () => {
  await using hub = await testHub({
    limits: {
      ...limits,
      'person-tokens': 2,
      'organization-projects': 2,
      'organization-repositories': 2,
      'organization-invitations': 2,
      'project-deployment-tokens': 2,
    },
  })
  const person = await hub.user()
  const { userId } = person
  const organizationId = await hub.organization(person)
  const elsewhere = await hub.organization(person)
  const projectId = await hub.project(person, elsewhere)
  let count = 0
  const create = {
    'person-tokens': () => person.invoke('users_CreateToken', { userId }),
    'organization-projects': () => person.invoke('projects_Create', { organizationId, name: 'One more' }),
    'organization-repositories': () =>
      person.invoke('repositories_Create', { organizationId, displayName: 'One more' }),
    'organization-invitations': () =>
      person.invoke('organizations_InviteMember', { organizationId, email: `${++count}@test.example` }),
    'project-deployment-tokens': () =>
      person.invoke('projects_CreateDeploymentToken', { projectId, name: 'One more' }),
  }
  for (const [limit, one] of Object.entries(create)) {
    const results = await Promise.allSettled([one(), one(), one(), one()])
    expect(
      results.filter(({ status }) => status === 'fulfilled'),
      limit,
    ).toHaveLength(2)
    await expect(one(), limit).rejects.toMatchObject({
      kind: 'Invalid',
      status: 409,
      message: expect.stringContaining(`Limit ${limit}: found 3, expected at most 2 `),
    })
  }
  // A repository cannot be moved into an organization at its limit. An expired token makes room for another token.
  const admin = await hub.user({ isAdmin: true })
  const repositoryId = await hub.repository(person, elsewhere)
  await expect(
    admin.invoke('repositories_SetOrganization', { repositoryId, organizationId }),
  ).rejects.toMatchObject({ message: expect.stringContaining('Limit organization-repositories: ') })
  await hub.db
    .updateTable('user_token')
    .set({ expires_at: new Date(0) })
    .execute()
  expect(await create['person-tokens']()).toHaveProperty('token')
})

it('S17: limits the rate at which a person creates things, and answers with Retry-After', async () => {
  await using hub = await testHub({ limits: { ...limits, 'person-creations': 5 } })
  const person = await hub.user()
  const create = () => person.invoke('organizations_Create', { name: 'One more' })
  const results = await Promise.allSettled(Array.from({ length: 20 }, create))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  await expect(person.invoke('users_CreateToken', { userId: person.userId })).rejects.toMatchObject({
    kind: 'RateLimited',
    status: 429,
    message: 'Limit person-creations: found 6, expected at most 5 creations in 10 min. Try again later.',
    retryAfterSecs: expect.any(Number),
  })
  await expect
    .poll(async () => eventsOf(hub))
    .toMatchObject([{ data: { limit: 'person-creations', userId: person.userId } }])
  const other = await hub.user()
  expect(await hub.organization(other)).toMatch(/^org_/)
})

it('reports a limit once per window with the count of hits, and shows it on the page of the device', async () => {
  const { log, named } = capturedLog()
  await using hub = await testHub()
  const { owner, projectId, organizationId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  {
    await using reports = new LimitReports({ ...hub, log, windowMs: 100 })
    const subject = { deviceId, projectId, organizationId }
    for (let i = 0; i < 50; i++)
      reports.add('person-organizations', { ...subject, userId: deviceId }, `hit ${i}`)
    await expect.poll(() => named('a limit was hit').length).toBe(2)
  }
  expect(named('a limit was hit').map(line => line.count)).toEqual([1, 49])
  const { limitHits } = await owner.invoke('devices_GetDetails', { deviceId })
  expect(limitHits).toMatchObject([{ limit: 'person-organizations', message: 'hit 49', count: 50 }])
})

it.each(limitNames())('reads another value of %s from its setting, and refuses an invalid one', name => {
  expect(loadConfig({ [settingOf(name)]: '7' }).limits[name]).toBe(7)
  expect(() => loadConfig({ [settingOf(name)]: '0' })).toThrow(
    new RegExp(`^${settingOf(name)}: found "0", expected a whole number of `),
  )
})

async function eventsOf(hub: Awaited<ReturnType<typeof testHub>>) {
  const { events } = await hub.pipeline.run(SYSTEM, 'audit_QueryAuditLogEvents', {})
  return events.filter(({ event }) => event === 'limits_Reached')
}
