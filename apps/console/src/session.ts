import { ActionError, errorOf } from '@muster/actions/client'
import type { QueryClient } from '@tanstack/react-query'
import { invoke } from './api/client.ts'
import { actionQuery, useAction } from './api/queries.ts'
import { held, useHeld } from './lib/held.ts'
import { log } from './lib/log.ts'

/** Who is signed in. */
export type Session = { userId: string; email: string; displayName?: string; isAdmin: boolean }

const heldUserId = held<string | undefined>(undefined)
let stopFollowing: (() => void) | undefined

// Tabs share the cookie: whoever signs in in one of them is who the requests of all others come from.
const tabs = new BroadcastChannel('muster.person')
tabs.onmessage = ({ data }: MessageEvent<string>) => {
  // Nothing may go on here under the name of somebody else.
  if (heldUserId.get() && data !== heldUserId.get()) window.location.reload()
}

/** Loads the session unless one is held; rejects when the caller is not a signed-in person or the hub does not answer. */
export async function loadSession(queryClient: QueryClient): Promise<string> {
  const knownUserId = heldUserId.get()
  if (knownUserId) return knownUserId
  // Pages work without it, polling.
  const live = import('./api/live.ts').catch((error: unknown) => void log.warn('No live updates', error))
  const { actor } = await askActor()
  if (actor.actor !== 'User') throw new Error('Not logged in')
  if (!actor.userId) throw new Error('User ID is not available')
  // At once, so that the stream is open before the pages ask: what changes in between would be missed.
  stopFollowing ??= (await live)?.followLiveChanges(queryClient)
  await queryClient.fetchQuery({ ...actionQuery('users_GetDetails', { userId: actor.userId }), retry: false })
  heldUserId.set(actor.userId)
  tabs.postMessage(actor.userId)
  return actor.userId
}

/** Asks once more when the hub did not answer at all, never after it has. */
async function askActor() {
  try {
    return await invoke('actor_GetActor', {})
  } catch (error) {
    if (error instanceof ActionError && error.status === 0) return await invoke('actor_GetActor', {})
    throw error
  }
}

/** The signed-in person; suspends while the profile loads and throws outside the authenticated area. */
export function useSession(): Session {
  const userId = useHeldUserId()
  if (!userId) throw new Error('User ID is not available')
  const { email, displayName, isAdmin } = useAction('users_GetDetails', { userId })
  return { userId, email, isAdmin, ...(displayName !== undefined && { displayName }) }
}

/** The id of the signed-in person as it changes, or nothing. */
export function useHeldUserId(): string | undefined {
  return useHeld(heldUserId)
}

/** Signs in; the hub sets the cookie. Rejects with `ActionError`. */
export async function logIn(
  queryClient: QueryClient,
  { email, password, rememberMe }: { email: string; password: string; rememberMe: boolean },
): Promise<void> {
  await post('login', { email, password, remember: rememberMe })
  endSession(queryClient)
}

/** Signs out at the hub; the session stays when that fails. The caller leaves the page, then calls `endSession`. */
export async function logOut(): Promise<void> {
  await post('logout')
}

/** Forgets the session and every answer that was loaded for it. */
export function endSession(queryClient: QueryClient) {
  stopFollowing?.()
  stopFollowing = undefined
  heldUserId.set(undefined)
  queryClient.clear()
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
