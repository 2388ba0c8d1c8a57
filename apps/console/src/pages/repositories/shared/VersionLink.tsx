import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'

type VersionLinkProps = {
  repositoryId: string
  packageId: string
  versionId: string
  className?: string
  children: ReactNode
}

/** Link to the page of a version of a package. */
export function VersionLink({ repositoryId, packageId, versionId, className, children }: VersionLinkProps) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}' })
  return (
    <Link
      to="/org_{$organization}/repositories/$repositoryId/packages/$packageId/versions/$versionId"
      params={{ organization, repositoryId, packageId, versionId }}
      className={className}
    >
      {children}
    </Link>
  )
}
