import type { ActionOutput } from '@muster/actions/client'
import type { QueryClient } from '@tanstack/react-query'
import { type KnownCounts, keyOfCounts, storeCounts } from '../../offline/known-counts.ts'

/** Time, in milliseconds, from the first answer of the hub to storing. Answers that arrive in this time are stored together. */
const COLLECT_MS = 1_000

/**
 * Stores how many devices each loaded project has, and how many of them are connected. The offline page shows these counts. Returns a
 * function that ends the storing.
 */
export function keepCounts(queryClient: QueryClient): () => void {
  const key = keyOfCounts()
  if (key === undefined) return () => {}
  let timer: ReturnType<typeof setTimeout> | undefined
  const store = () => {
    timer = undefined
    storeCounts(key, countsOf(queryClient))
  }
  const unsubscribe = queryClient.getQueryCache().subscribe(({ type, query }) => {
    const isCounts = type === 'updated' && COUNTED.has(String(query.queryKey[0]))
    if (isCounts && query.state.status === 'success') timer ??= setTimeout(store, COLLECT_MS)
  })
  return () => {
    unsubscribe()
    clearTimeout(timer)
  }
}

const COUNTED = new Set(['projects_GetSummary', 'projects_GetDetails', 'organizations_QueryProjects'])

/** The counts of devices of all projects whose name and summary are in the query cache. */
function countsOf(queryClient: QueryClient): KnownCounts[] {
  const projects = new Map<string, { organizationId: string; name: string }>()
  for (const [[, input], data] of queryClient.getQueriesData<ProjectsAnswer>({
    queryKey: ['organizations_QueryProjects'],
  })) {
    const { organizationId } = input as { organizationId: string }
    const pages = data && 'pages' in data ? data.pages : data ? [data] : []
    for (const { projectId, name } of pages.flatMap(page => page.projects))
      projects.set(projectId, { organizationId, name })
  }
  for (const [, data] of queryClient.getQueriesData<ActionOutput<'projects_GetDetails'>>({
    queryKey: ['projects_GetDetails'],
  })) {
    if (data) projects.set(data.projectId, data)
  }
  const counts = new Map<string, KnownCounts>()
  for (const { queryKey, state } of queryClient
    .getQueryCache()
    .findAll({ queryKey: ['projects_GetSummary'] })) {
    const { projectId } = queryKey[1] as { projectId: string }
    const summary = state.data as ActionOutput<'projects_GetSummary'> | undefined
    const project = projects.get(projectId)
    if (!summary || !project || (counts.get(projectId)?.atMs ?? 0) > state.dataUpdatedAt) continue
    counts.set(projectId, {
      path: `/${project.organizationId}/projects/${projectId}/devices`,
      name: project.name,
      connected: summary.connectedCount,
      total: summary.deviceCount,
      atMs: state.dataUpdatedAt,
    })
  }
  return [...counts.values()]
}

type ProjectsPage = ActionOutput<'organizations_QueryProjects'>
type ProjectsAnswer = ProjectsPage | { pages: ProjectsPage[] }
