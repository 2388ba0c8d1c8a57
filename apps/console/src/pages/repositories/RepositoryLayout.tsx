import { getRouteApi, Outlet, useMatches } from '@tanstack/react-router'
import { File, Package, Settings, TextAlignStart } from 'lucide-react'
import { useActionState } from '../../api/queries.ts'
import { organizationIdOf, useOrganizations } from '../../organization.ts'
import { OwnerRedirect } from '../../shell/app/OwnerRedirect.tsx'
import { SideLayout } from '../../shell/app/SideLayout.tsx'
import { EntityError } from '../../ui/EntityError.tsx'
import { isAbsent } from '../../ui/is-absent.ts'

const VERSION =
  '/authenticated/org_{$organization}/repositories/$repositoryId/packages/$packageId/versions/$versionId'

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId')

/** Sidebar and content of one repository. */
export function RepositoryLayout() {
  const { organization, repositoryId } = route.useParams()
  const { data, error, refetch } = useActionState('repositories_GetDetails', { repositoryId })
  const hasOwnHead = useMatches({
    select: matches => matches.some(({ routeId }) => routeId === VERSION),
  })
  const organizations = useOrganizations()
  // A user who is no member of the owning organization opens its public repositories at the URL of another organization, so only members
  // are redirected.
  const isMember = organizations?.some(({ organizationId }) => organizationId === data?.organizationId)
  if (data && isMember && data.organizationId !== organizationIdOf({ organization })) {
    return <OwnerRedirect organizationId={data.organizationId} />
  }
  const list = `/org_${organization}/repositories/`
  const base = `${list}${repositoryId}`
  return (
    <SideLayout
      back={{ to: list, label: 'All Repositories' }}
      name={data?.name ?? (error ? 'Repository' : undefined)}
      id={{ id: repositoryId, what: 'repository id' }}
      label="Repository"
      hasOwnHead={hasOwnHead}
      links={[
        {
          to: `${base}/packages`,
          icon: Package,
          label: 'Packages',
          count: data?.packageCount,
          isCounted: true,
        },
        { to: `${base}/assets`, icon: File, label: 'Assets', count: data?.assetCount, isCounted: true },
        { to: `${base}/log`, icon: TextAlignStart, label: 'Audit Log' },
        { to: `${base}/settings`, icon: Settings, label: 'Settings' },
      ]}
    >
      {/* The repository may be deleted, or the user may lose access, while the page is open. */}
      {error && (!data || isAbsent(error)) ? (
        <EntityError error={error} reset={() => void refetch()} />
      ) : (
        <Outlet />
      )}
    </SideLayout>
  )
}
