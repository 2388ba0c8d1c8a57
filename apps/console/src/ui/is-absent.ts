import { ActionError } from '@muster/actions/client'
import { isSignedOut } from './is-signed-out.ts'

/** Whether there is no such thing for who asked: absent and foreign ones are refused alike, and an id of another shape names none. */
export function isAbsent(error: unknown): boolean {
  return (
    error instanceof ActionError &&
    !isSignedOut(error) &&
    (error.kind === 'Forbidden' || error.kind === 'Invalid')
  )
}
