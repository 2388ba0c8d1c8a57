/** Thrown when the user declines a confirmation, before any request is sent (docs/specification.md 8). */
export class UserCancelledError extends Error {
  override readonly name = 'UserCancelledError'

  constructor() {
    super('User cancelled the action')
  }
}

/** Asks for confirmation with `window.confirm`. Rejects with `UserCancelledError` if the user cancels. */
export async function confirmed(text: string): Promise<void> {
  if (!window.confirm(text)) throw new UserCancelledError()
}
