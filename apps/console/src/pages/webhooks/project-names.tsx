import { useActionState } from '../../api/queries.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'

/** Projects whose names are known at once. A webhook of another one shows the id. */
const MAX_PROJECTS = 200

/** Names of the projects of an organization, for webhooks that send messages of one project only. */
export function useProjectNames(organizationId: string, isNeeded: boolean) {
  const { data, error } = useActionState(
    'organizations_QueryProjects',
    { organizationId, limit: MAX_PROJECTS },
    { enabled: isNeeded },
  )
  return {
    error: isNeeded && !data ? error : null,
    nameOf: (projectId: string | undefined): string | undefined =>
      projectId && (data?.projects.find(one => one.projectId === projectId)?.name ?? projectId),
  }
}

/** Message that names of projects are missing, in whose place the ids stand. */
export function ProjectNamesFailed({ error }: { error: unknown }) {
  return <ErrorAlert title="Could not load the names of projects." error={error} />
}
