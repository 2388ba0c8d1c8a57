import { Navigate } from '@tanstack/react-router'
import { organizationParam } from '../../organization.ts'

/** Replaces the organization in the URL by `organizationId`, the organization that owns the entity on the page. */
export function OwnerRedirect({ organizationId }: { organizationId: string }) {
  const organization = organizationParam(organizationId)
  return <Navigate to="." params={current => ({ ...current, organization })} search hash replace />
}
