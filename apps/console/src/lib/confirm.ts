/** Thrown when a person declines a confirmation; no request has been made (spec 8). */
export class UserCancelledError extends Error {
  override readonly name = 'UserCancelledError'

  constructor() {
    super('User cancelled the action')
  }
}

/** Asks with the browser's own dialog; rejects with `UserCancelledError` when the answer is no. */
export async function confirmed(text: string): Promise<void> {
  if (!window.confirm(text)) throw new UserCancelledError()
}
