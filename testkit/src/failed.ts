import type { ActionError } from '@muster/actions'

/** Resolves to the error of a call that must fail. Rejects if the call succeeds. */
export function failed(call: Promise<unknown>): Promise<ActionError> {
  return call.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: ActionError) => error,
  )
}
