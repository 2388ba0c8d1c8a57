import { isSignedOut } from './is-signed-out.ts'

/** The message of an error. When the session has ended, a link to sign in again follows. */
export function ErrorText({ error }: { error: unknown }) {
  return (
    <>
      {messageOf(error)}
      {isSignedOut(error) && <LoginLink />}
    </>
  )
}

/** Link to the sign-in page. After the sign-in the user returns to the current page. */
export function LoginLink() {
  const { pathname, search, hash } = window.location
  return (
    <>
      {' '}
      <a className="inline" href={`/login?redirect=${encodeURIComponent(pathname + search + hash)}`}>
        Log in
      </a>
    </>
  )
}

/**
 * The message of an error. Without a session the hub refuses every request with the same message. That message does not
 * mention the session, so another text replaces it.
 */
export function messageOf(error: unknown): string {
  if (isSignedOut(error)) return 'Your session has ended.'
  return error instanceof Error ? error.message : String(error)
}
