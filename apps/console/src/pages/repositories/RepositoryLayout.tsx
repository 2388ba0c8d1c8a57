import { getRouteApi, Outlet } from '@tanstack/react-router'
import { File, Package, Settings, TextAlignStart } from 'lucide-react'
import { useActionState } from '../../api/queries.ts'
import { SideLayout } from '../../shell/SideLayout.tsx'
import { isAbsent } from '../../ui/is-absent.ts'
import { RouteError } from '../../ui/RouteError.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId')

/** Sidebar and content of one repository. */
export function RepositoryLayout() {
  const { organization, repositoryId } = route.useParams()
  const { data, error, refetch } = useActionState('repositories_GetDetails', { repositoryId })
  const list = `/org_${organization}/repositories/`
  const base = `${list}${repositoryId}`
  return (
    <SideLayout
      back={{ to: list, label: 'All Repositories' }}
      name={data?.name ?? (error ? 'Repository' : undefined)}
      id={{ id: repositoryId, what: 'repository id' }}
      label="Repository"
      links={[
        { to: `${base}/packages`, icon: Package, label: 'Packages', count: data?.packageCount },
        { to: `${base}/assets`, icon: File, label: 'Assets', count: data?.assetCount },
        { to: `${base}/log`, icon: TextAlignStart, label: 'Audit Log' },
        { to: `${base}/settings`, icon: Settings, label: 'Settings' },
      ]}
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
