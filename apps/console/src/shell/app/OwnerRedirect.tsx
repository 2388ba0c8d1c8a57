import { Navigate } from '@tanstack/react-router'
import { organizationParam } from '../../organization.ts'

/** Redirects to the same URL with the organization that owns the entity on the page. */
export function OwnerRedirect({ organizationId }: { organizationId: string }) {
  const organization = organizationParam(organizationId)
  return <Navigate to="." params={current => ({ ...current, organization })} search hash replace />
}
