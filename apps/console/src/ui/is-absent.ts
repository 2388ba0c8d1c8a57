import { ActionError } from '@muster/actions/client'
import { isSignedOut } from './is-signed-out.ts'

/**
 * Whether the error means "not found". The hub answers `Forbidden` for absent and for other tenants' entities alike,
 * and `Invalid` for a malformed id.
 */
export function isAbsent(error: unknown): boolean {
  return (
    error instanceof ActionError &&
    !isSignedOut(error) &&
    (error.kind === 'Forbidden' || error.kind === 'Invalid')
  )
}
