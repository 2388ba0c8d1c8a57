import { useParams } from '@tanstack/react-router'
import { VersionLink } from '../shared/VersionLink.tsx'

/** Link from the page of a version to another version of the same package. */
export function SiblingLink({ versionId, name }: { versionId: string; name: string }) {
  const { repositoryId, packageId } = useParams({
    from: '/authenticated/org_{$organization}/repositories/$repositoryId/packages/$packageId/versions/$versionId',
  })
  return (
    <VersionLink repositoryId={repositoryId} packageId={packageId} versionId={versionId}>
      {name}
    </VersionLink>
  )
}
