import { isSignedOut } from './is-signed-out.ts'

/** The words of an error, with a link to sign in again when the session is gone. */
export function ErrorText({ error }: { error: unknown }) {
  return (
    <>
      {messageOf(error)}
      {isSignedOut(error) && <LoginLink />}
    </>
  )
}

/** A link to sign in again that comes back to this page. */
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

/** What went wrong, in the words of whoever refused; without a session everything is refused in the same words, which do not say so. */
export function messageOf(error: unknown): string {
  if (isSignedOut(error)) return 'Your session has ended.'
  return error instanceof Error ? error.message : String(error)
}
