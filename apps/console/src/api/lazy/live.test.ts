import type { LiveChange } from '@muster/actions/client'
import { describe, expect, it } from 'vitest'
import { isAffectedBy } from './live.ts'

const change = (rest: Partial<LiveChange> & Pick<LiveChange, 'topic'>): LiveChange => ({
  organizationId: 'org_1',
  ...rest,
})

describe('isAffectedBy', () => {
  it('matches the lists and details that show a device', () => {
    const connected = change({ topic: 'connections', projectId: 'p_1', deviceId: 'd_1' })
    expect(
      isAffectedBy(['projects_QueryDevices', { projectId: 'p_1', limit: 100 }, 'pages'], connected),
    ).toBe(true)
    expect(isAffectedBy(['projects_GetSummary', { projectId: 'p_1', maxBins: 54 }], connected)).toBe(true)
    expect(isAffectedBy(['devices_GetDetails', { deviceId: 'd_1' }], connected)).toBe(true)
  })

  it('ignores other projects, devices and topics', () => {
    const connected = change({ topic: 'connections', projectId: 'p_1', deviceId: 'd_1' })
    expect(isAffectedBy(['projects_QueryDevices', { projectId: 'p_2' }], connected)).toBe(false)
    expect(isAffectedBy(['devices_GetDetails', { deviceId: 'd_2' }], connected)).toBe(false)
    expect(isAffectedBy(['devices_QueryProperties', { deviceId: 'd_1' }], connected)).toBe(false)
    expect(isAffectedBy(['config.json'], connected)).toBe(false)
  })

  it('matches the lists and details that show a repository, and ignores other repositories', () => {
    const tagged = change({ topic: 'packages', repositoryId: 'repo_1' })
    expect(isAffectedBy(['repositories_QueryPackages', { repositoryId: 'repo_1' }, 'pages'], tagged)).toBe(
      true,
    )
    expect(isAffectedBy(['repositories_QueryPackages', { repositoryId: 'repo_2' }, 'pages'], tagged)).toBe(
      false,
    )
    // The keys of these queries hold the id of a package or version but not of the repository, so every change of the topic `packages`
    // affects them.
    expect(isAffectedBy(['repositories_QueryPackageVersions', { packageId: 'pkg_1' }], tagged)).toBe(true)
    expect(isAffectedBy(['repositories_GetVersionDetails', { versionId: 'pkg_v_1' }], tagged)).toBe(true)
    const renamed = change({ topic: 'repositories', repositoryId: 'repo_1' })
    expect(isAffectedBy(['repositories_GetDetails', { repositoryId: 'repo_1' }], renamed)).toBe(true)
    expect(isAffectedBy(['projects_QueryLinkedRepositories', { projectId: 'p_1' }], renamed)).toBe(true)
  })

  it('treats a change without a device as a change of every device', () => {
    const many = change({ topic: 'connections', projectId: 'p_1' })
    expect(isAffectedBy(['devices_GetDetails', { deviceId: 'd_2' }], many)).toBe(true)
    expect(isAffectedBy(['projects_QueryDevices', { projectId: 'p_2' }], many)).toBe(false)
  })

  it("refreshes the user's organizations after a change of any organization", () => {
    expect(
      isAffectedBy(['users_QueryOrganizations', { userId: 'u_1' }], change({ topic: 'organizations' })),
    ).toBe(true)
  })
})
