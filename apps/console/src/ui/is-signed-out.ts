import { ActionError } from '@muster/actions/client'

/** Whether the hub refused because the session has ended. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ActionError && error.status === 401
}
