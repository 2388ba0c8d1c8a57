import { useInfiniteQuery } from '@tanstack/react-query'
import { Outlet, useMatches, useParams } from '@tanstack/react-router'
import { actionPagesQuery, useActionState } from '../../api/queries.ts'
import { organizationIdOf } from '../../organization.ts'
import { OwnerRedirect } from '../../shell/app/OwnerRedirect.tsx'
import { projectPages } from '../../shell/app/pages.ts'
import { SideLayout } from '../../shell/app/SideLayout.tsx'
import { EntityError } from '../../ui/EntityError.tsx'
import { isAbsent } from '../../ui/is-absent.ts'
import { tokensInput } from './tokens/tokens-input.ts'

const FROM = '/authenticated/org_{$organization}/projects/$projectId'

/** Sidebar and content of one project. */
export function ProjectLayout() {
  const { organization, projectId } = useParams({ from: FROM })
  const { data, error, refetch } = useActionState('projects_GetDetails', { projectId })
  const hasOwnHead = useMatches({
    select: matches => matches.some(({ routeId }) => routeId === `${FROM}/devices/$deviceId`),
  })
  const tokenCount = useCachedTokenCount(projectId)
  if (data && data.organizationId !== organizationIdOf({ organization })) {
    return <OwnerRedirect organizationId={data.organizationId} />
  }
  const base = `/org_${organization}/projects/${projectId}`
  const counts: Record<string, number | undefined> = { Devices: data?.deviceCount, Tokens: tokenCount }
  return (
    <SideLayout
      back={{ to: `/org_${organization}/projects`, label: 'All Projects' }}
      name={data?.name ?? (error ? 'Project' : undefined)}
      id={{ id: projectId, what: 'project id' }}
      label="Project"
      links={projectPages(base).map(link => ({
        ...link,
        count: counts[link.label],
        isCounted: link.label === 'Devices',
      }))}
      hasOwnHead={hasOwnHead}
    >
      {/* The project may be deleted, or the user may lose access, while the page is open. */}
      {error && (!data || isAbsent(error)) ? (
        <EntityError error={error} reset={() => void refetch()} />
      ) : (
        <Outlet />
      )}
    </SideLayout>
  )
}

/** Number of deployment tokens, if the token list is in the query cache. The number is not worth a request of its own. */
function useCachedTokenCount(projectId: string) {
  const { data } = useInfiniteQuery({
    ...actionPagesQuery('projects_QueryDeploymentTokens', tokensInput(projectId)),
    enabled: false,
  })
  return data?.pages[0]?.total
}
