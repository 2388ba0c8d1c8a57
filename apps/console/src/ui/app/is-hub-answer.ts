import { ActionError } from '@muster/actions/client'

/**
 * Whether the hub itself wrote the text of an error. A lost connection or the error page of a proxy has a `cause` instead, and an error with
 * an empty text says nothing.
 */
export function isHubAnswer(error: unknown): boolean {
  return (
    error instanceof Error &&
    error.message !== '' &&
    !(error instanceof ActionError && error.cause !== undefined)
  )
}
