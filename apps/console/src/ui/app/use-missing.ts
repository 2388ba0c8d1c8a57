import type { ActionName } from '@muster/actions/client'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useSyncExternalStore } from 'react'

/** Words for the missing part of a page, by the query that failed. Has only queries whose part of the page does not show the error itself. */
const WORDS: Partial<Record<ActionName, string>> = {
  devices_GetDetails: 'name and state of the device',
  devices_GetProperty: 'properties of the device',
  devices_QueryAuditLogActivity: 'numbers of entries',
  devices_QueryPropertyHistory: 'past values',
  jobs_GetSummary: 'kinds of jobs',
  organizations_QueryAuditLogActivity: 'numbers of entries',
  organizations_QueryRepositories: 'repositories of the organization',
  projects_GetPins: 'pinned properties',
  projects_GetSummary: 'numbers of devices',
  projects_QueryAuditLogActivity: 'numbers of entries',
  projects_QueryDeploymentTokens: 'numbers of tokens',
  projects_QueryDeviceCounts: 'numbers of devices',
  projects_QueryPropertyNames: 'names of properties',
  repositories_GetFollowers: 'devices that follow the repository',
  repositories_GetPackageDetails: 'name of the package',
  repositories_QueryAuditLogActivity: 'numbers of entries',
  repositories_QueryPackageUsage: 'numbers of devices',
  users_GetView: 'your columns',
  views_Query: 'saved views',
}

/** Words for what this page lacks, because a query has failed and has no earlier answer; empty if nothing is missing. */
export function useMissing(): string {
  const cache = useQueryClient().getQueryCache()
  return useSyncExternalStore(
    useCallback(onChange => cache.subscribe(onChange), [cache]),
    () => {
      const failed = cache.findAll({
        type: 'active',
        predicate: ({ state }) => state.status === 'error' && state.data === undefined,
      })
      const words = failed.flatMap(({ queryKey }) => WORDS[queryKey[0] as ActionName] ?? [])
      return [...new Set(words)].sort().join(', ')
    },
  )
}
