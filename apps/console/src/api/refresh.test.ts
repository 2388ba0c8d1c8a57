import { expect, it } from 'vitest'
import { refreshOf } from './refresh.ts'

it.each([
  ['organizations_QueryProjects', 60],
  ['users_QueryTokens', 60],
  ['devices_QueryEvents', 60],
  ['projects_QueryDevices', 120],
  ['repositories_GetDetails', 120],
  ['projects_GetSoftware', 60],
  ['repositories_GetVersionUsage', 60],
  ['instance_GetHealth', 5],
  ['cluster_GetDetails', 300],
  ['repositories_QueryPackages', 300],
  ['repositories_GetPackageDetails', 300],
  ['repositories_QueryPackageVersions', 300],
  ['repositories_GetVersionDetails', 300],
  ['repositories_QueryAssets', 300],
  ['repositories_GetS3Config', 300],
])('polls %s every %d s', (name, secs) => {
  expect(refreshOf(name)).toEqual({ intervalMs: secs * 1000, staleMs: 30_000 })
})

it('never polls the actor', () => {
  expect(refreshOf('actor_GetActor').intervalMs).toBe(false)
})
