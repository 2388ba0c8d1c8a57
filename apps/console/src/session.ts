import { ActionError, errorOf } from '@muster/actions/client'
import type { QueryClient } from '@tanstack/react-query'
import { holdQueries, releaseQueries, useAction } from './api/queries.ts'
import { beginCounts, forgetCounts } from './lib/counts-key.ts'
import { isSignOutDue, setSignOutDue } from './lib/due-sign-out.ts'
import { externalStore, useExternalStore } from './lib/external-store.ts'

/** The signed-in user. */
export type Session = { userId: string; email: string; displayName?: string; isAdmin: boolean }

/** The person who is signed in, and the id of their session; undefined if the hub did not send it. */
type SignedIn = { userId: string; sessionId: string | undefined }

const signedIn = externalStore<SignedIn | undefined>(undefined)
let following: { stop: () => void } | undefined
/** The session that is loading, for all parts of the page that need it. */
let opening: Promise<string> | undefined

// Tabs share the session cookie: after a sign-in in one tab, requests of all other tabs come from that user.
const tabs = new BroadcastChannel('muster.person')
tabs.onmessage = ({ data }: MessageEvent<SignedIn>) => {
  const known = signedIn.get()
  if (!known) return
  // The tab reloads its page, so that it does not act as another user.
  if (data.userId !== known.userId) window.location.reload()
  else signedIn.set(data)
}

/**
 * Loads the session unless it is known already. Resolves to the user id. Rejects if no user is signed in or the hub does
 * not answer.
 */
export async function loadSession(queryClient: QueryClient): Promise<string> {
  const known = signedIn.get()
  if (known) return known.userId
  opening ??= open(queryClient)
  const own = opening
  try {
    return await own
  } finally {
    if (opening === own) opening = undefined
  }
}

async function open(queryClient: QueryClient): Promise<string> {
  if (isSignOutDue()) {
    await post('logout')
    setSignOutDue(false)
    delete window.askedActor
  }
  const { openSession } = await import('./api/lazy/open-session.ts')
  const { stream, ...person } = await openSession(queryClient)
  following = stream
  signedIn.set(person)
  tabs.postMessage(person)
  return person.userId
}

/** The signed-in user. Suspends while the profile loads, and throws outside of the authenticated routes. */
export function useSession(): Session {
  const userId = useSignedInUserId()
  if (!userId) throw new Error('User ID is not available')
  const { email, displayName, isAdmin } = useAction('users_GetDetails', { userId })
  return { userId, email, isAdmin, ...(displayName !== undefined && { displayName }) }
}

/** Id of the signed-in user, or `undefined`. */
export function useSignedInUserId(): string | undefined {
  return useExternalStore(signedIn)?.userId
}

/** The signed-in person and their session at the time of a click, for requests that are sent later. Throws if nobody is signed in. */
export function askedByNow(): { userId: string; sessionId: string } {
  const { userId, sessionId } = signedIn.get() ?? {}
  if (!userId || !sessionId) throw new Error('Not logged in')
  return { userId, sessionId }
}

/** Signs in; the hub sets the session cookie. Rejects with `ActionError`. */
export async function logIn(
  queryClient: QueryClient,
  { email, password, rememberMe }: { email: string; password: string; rememberMe: boolean },
): Promise<void> {
  await post('login', { email, password, remember: rememberMe })
  setSignOutDue(false)
  endSession(queryClient)
  beginCounts(rememberMe)
}

/**
 * Signs out at the hub. If the hub refuses, the session stays. After success the caller leaves the page and calls `endSession`. If the hub
 * does not answer, the browser leaves the console, so that nothing of it stays in the page or in other tabs. The sign-out then reaches the
 * hub before this browser shows anything again.
 */
export function logOut(queryClient: QueryClient): Promise<void> {
  return closeSession(queryClient, async () => {
    try {
      await post('logout')
    } catch (error) {
      if (error instanceof ActionError && error.status !== 0 && error.status < 500) throw error
      setSignOutDue(true)
      forgetCounts()
      tabs.postMessage({ userId: '', sessionId: undefined } satisfies SignedIn)
      window.location.replace('/login')
      // The page is on its way out and must not show anything else before.
      await new Promise(() => {})
    }
  })
}

/**
 * Calls `close`, which ends the session at the hub, and sends no queries from then on: the hub would refuse them. If `close` rejects, the
 * session stays, and the queries on screen are sent again. After success the caller leaves the page and calls `endSession`.
 */
export async function closeSession(queryClient: QueryClient, close: () => Promise<unknown>): Promise<void> {
  await holdQueries(queryClient)
  try {
    await close()
  } catch (error) {
    releaseQueries()
    void queryClient.refetchQueries({ type: 'active' })
    throw error
  }
  following?.stop()
  following = undefined
  // Removes the device counts that the offline page shows, because the session has ended. `endSession` removes them too, but only after
  // the navigation to the login page, and the page may be reloaded or closed before that.
  forgetCounts()
}

/** Forgets the session and clears the query cache. */
export function endSession(queryClient: QueryClient) {
  delete window.askedActor
  following?.stop()
  following = undefined
  opening = undefined
  signedIn.set(undefined)
  forgetCounts()
  queryClient.clear()
  releaseQueries()
}

async function post(name: 'login' | 'logout', body?: unknown): Promise<void> {
  let response: Response
  try {
    response = await fetch(`/api/private/${name}`, {
      method: 'POST',
      credentials: 'same-origin',
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
  } catch (cause) {
    throw new ActionError('Internal', 'The hub could not be reached.', { status: 0, cause })
  }
  if (!response.ok) throw await errorOf(response)
}
