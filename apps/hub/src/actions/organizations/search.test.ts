import { deviceRow, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let organizationId: string
let projectId: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, organizationId, projectId } = await hub.fleet())
  await owner.invoke('projects_SetName', { projectId, name: 'Harbor cranes' })
})
afterAll(() => hub[Symbol.asyncDispose]())

const search = (text: string, limit?: number) =>
  owner.invoke('organizations_Search', { organizationId, text, limit })
const named = async (text: string, limit?: number) => {
  const { projects, repositories, devices } = await search(text, limit)
  return [
    ...projects.map(({ name }) => name),
    ...repositories.map(({ displayName }) => displayName),
    ...devices.map(({ name, hostname }) => name ?? hostname),
  ]
}

describe('organizations_Search', () => {
  it('finds projects, repositories and devices by a part of name, host name or id, in any case', async () => {
    const repositoryId = await hub.repository(owner, organizationId, { name: 'Crane software' })
    const deviceId = await deviceRow(hub, projectId, { name: 'old crane', isConnected: true })
    await deviceRow(hub, projectId, { name: 'Crane 7' })
    const unnamed = await deviceRow(hub, projectId, { name: null, hostname: 'crane-gw' } as object)
    const found = await search('CRANE')
    expect(found.projects).toEqual([{ projectId, name: 'Harbor cranes' }])
    expect(found.repositories).toMatchObject([{ repositoryId, displayName: 'Crane software' }])
    // Names that begin with the text come before names that only contain it.
    expect(found.devices.map(({ name, hostname }) => name ?? hostname)).toEqual([
      'Crane 7',
      'crane-gw',
      'old crane',
    ])
    expect(found.devices[2]).toEqual({
      deviceId,
      name: 'old crane',
      projectId,
      projectName: 'Harbor cranes',
      isConnected: true,
    })
    for (const id of [deviceId, unnamed.slice(2), projectId, repositoryId])
      expect(await named(id)).toHaveLength(1)
  })

  it('matches wildcard characters literally', async () => {
    await deviceRow(hub, projectId, { name: '50 % of a_b\\c' })
    for (const text of ['50 %', 'a_b', 'b\\c', '% of a_'])
      expect(await named(text)).toEqual(['50 % of a_b\\c'])
    for (const text of ['50%', 'a%b', 'a_c', '_____'] as const) expect(await named(text)).toEqual([])
    await expect(search('')).rejects.toMatchObject({ kind: 'Invalid' })
    await expect(search('a\0')).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it('answers up to `limit` results of each kind, and none of other organizations', async () => {
    for (let n = 0; n < 12; n++) await deviceRow(hub, projectId, { name: `pump ${n}` })
    expect(await named('pump')).toHaveLength(8)
    expect(await named('pump', 2)).toEqual(['pump 0', 'pump 1'])
    expect(await named('pump', 50)).toHaveLength(12)
    const other = await hub.fleet()
    await deviceRow(hub, other.projectId, { name: 'pump of others' })
    expect(await named('of others')).toEqual([])
    await expect(
      other.owner.invoke('organizations_Search', { organizationId, text: 'pump' }),
    ).rejects.toMatchObject({ kind: 'Forbidden' })
  })
})
