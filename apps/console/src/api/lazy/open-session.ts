import { ActionError, type ActionOutput, createClient } from '@muster/actions/client'
import type { QueryClient } from '@tanstack/react-query'
import { forgetCounts, hasCounts } from '../../lib/counts-key.ts'
import { invoke } from '../client.ts'
import { actionQuery } from '../queries.ts'
import { followLiveChanges } from './live.ts'

/**
 * Requests the signed-in person, and opens the stream of live changes before the pages load data, so that they neither miss a change nor
 * load their data twice. Rejects if nobody is signed in or the hub does not answer.
 */
export async function openSession(queryClient: QueryClient) {
  // If a person seems to be signed in, the stream opens beside the request.
  let stream = hasCounts() ? followLiveChanges(queryClient) : undefined
  try {
    const { actor, sessionId, account } = await askActor()
    if (actor.actor !== 'User' || !actor.userId) {
      forgetCounts()
      throw new Error('Not logged in')
    }
    const { userId } = actor
    stream ??= followLiveChanges(queryClient)
    await stream.ready
    // The account becomes younger than the stream, so that the opened stream does not cause a refetch. Polling finds a change in between.
    if (account) keepAccount(queryClient, userId, account)
    else await queryClient.fetchQuery({ ...actionQuery('users_GetDetails', { userId }), retry: false })
    return { userId, sessionId, stream }
  } catch (error) {
    stream?.stop()
    throw error
  }
}

type Account = NonNullable<ActionOutput<'actor_GetActor'>['account']>

/** Makes the answers about the account, which came with the actor, the answers of their queries. */
function keepAccount(queryClient: QueryClient, userId: string, account: Account) {
  for (const [name, answer] of Object.entries(account)) {
    const page = name === 'users_QueryOrganizationInvitations' && { limit: 1 }
    queryClient.setQueryData([name, { userId, ...page }], answer)
  }
}

/** Age of the page, in milliseconds, up to which the answer that index.html has requested is used. */
const ASKED_MS = 10_000

/** Requests the actor and their account. Retries once if the hub did not answer at all, never after an answer. */
async function askActor() {
  const input = { withAccount: true }
  const asked = performance.now() < ASKED_MS ? window.askedActor : undefined
  delete window.askedActor
  const first = asked ? createClient({ fetch: () => asked }) : invoke
  try {
    return await first('actor_GetActor', input)
  } catch (error) {
    if (error instanceof ActionError && error.status === 0) return await invoke('actor_GetActor', input)
    throw error
  }
}

declare global {
  interface Window {
    /** Response with the actor, which the script in index.html requests before the console has loaded. */
    askedActor?: Promise<Response>
  }
}
