/** Thrown when the user declines a confirmation, before any request is sent (docs/product.md 8). */
export class UserCancelledError extends Error {
  override readonly name = 'UserCancelledError'

  constructor() {
    super('User cancelled the action')
  }
}

/** Asks in the browser's own dialog. Rejects with `UserCancelledError` after Cancel. */
export async function confirmed(text: string): Promise<void> {
  if (!window.confirm(text)) throw new UserCancelledError()
}
