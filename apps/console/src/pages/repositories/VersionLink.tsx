import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'

type VersionLinkProps = { repositoryId: string; packageId: string; versionId: string; children: ReactNode }

/** Link from a page of a device to a version of a package. */
export function VersionLink({ repositoryId, packageId, versionId, children }: VersionLinkProps) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}/projects/$projectId' })
  return (
    <Link
      to="/org_{$organization}/repositories/$repositoryId/packages/$packageId/versions/$versionId"
      params={{ organization, repositoryId, packageId, versionId }}
    >
      {children}
    </Link>
  )
}
