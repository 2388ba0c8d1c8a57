import { useInfiniteQuery } from '@tanstack/react-query'
import { Outlet, useParams } from '@tanstack/react-router'
import { actionPagesQuery, useActionState } from '../../api/queries.ts'
import { projectPages } from '../../shell/pages.ts'
import { SideLayout } from '../../shell/SideLayout.tsx'
import { isAbsent } from '../../ui/is-absent.ts'
import { RouteError } from '../../ui/RouteError.tsx'
import { tokensInput } from '../tokens/tokens-input.ts'

const FROM = '/authenticated/org_{$organization}/projects/$projectId'

/** Sidebar and content of one project. */
export function ProjectLayout() {
  const { organization, projectId } = useParams({ from: FROM })
  const { data, error, refetch } = useActionState('projects_GetDetails', { projectId })
  const tokenCount = useCachedTokenCount(projectId)
  const base = `/org_${organization}/projects/${projectId}`
  const counts: Record<string, number | undefined> = { Devices: data?.deviceCount, Tokens: tokenCount }
  return (
    <SideLayout
      back={{ to: `/org_${organization}/projects`, label: 'All Projects' }}
      name={data?.name ?? (error ? 'Project' : undefined)}
      id={{ id: projectId, what: 'project id' }}
      label="Project"
      links={projectPages(base).map(link => ({ ...link, count: counts[link.label] }))}
    >
      {/* It may be deleted, or the right to it end, while one looks at it. */}
      {error && (!data || isAbsent(error)) ? (
        <RouteError error={error} reset={() => void refetch()} />
      ) : (
        <Outlet />
      )}
    </SideLayout>
  )
}

/** The number of tokens if the token list was looked at; it is not worth a request of its own. */
function useCachedTokenCount(projectId: string) {
  const { data } = useInfiniteQuery({
    ...actionPagesQuery('projects_QueryDeploymentTokens', tokensInput(projectId)),
    enabled: false,
  })
  return data?.pages[0]?.total
}
