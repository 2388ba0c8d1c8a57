import type { ActionName, LiveChange, LiveTopic } from '@muster/actions/client'
import type { Query, QueryClient } from '@tanstack/react-query'
import { log } from '../lib/log.ts'
import { isGone } from './queries.ts'

/** Which queries show what a topic names, and the id that both carry; `null` where the query has no such id. */
const AFFECTED: Record<LiveTopic, Partial<Record<ActionName, ChangeId | null>>> = {
  organizations: { users_QueryOrganizations: null, organizations_Query: null },
  members: {
    organizations_QueryMembers: 'organizationId',
    organizations_QueryInvitations: 'organizationId',
  },
  invitations: { users_QueryOrganizationInvitations: null },
  projects: {
    organizations_QueryProjects: 'organizationId',
    projects_GetDetails: 'projectId',
  },
  tokens: { projects_QueryDeploymentTokens: 'projectId' },
  devices: {
    projects_QueryDevices: 'projectId',
    projects_GetSummary: 'projectId',
    projects_GetDetails: 'projectId',
    devices_GetDetails: 'deviceId',
  },
  certificates: {
    projects_QueryDevices: 'projectId',
    projects_GetSummary: 'projectId',
    devices_GetDetails: 'deviceId',
  },
  connections: {
    projects_QueryDevices: 'projectId',
    projects_GetSummary: 'projectId',
    devices_GetDetails: 'deviceId',
    devices_QueryConnections: 'deviceId',
  },
  properties: {
    devices_QueryProperties: 'deviceId',
    devices_GetProperty: 'deviceId',
    devices_QueryPropertyHistory: 'deviceId',
  },
  events: { devices_QueryEvents: 'deviceId' },
  repositories: {
    organizations_QueryRepositories: 'organizationId',
    repositories_GetDetails: 'repositoryId',
    repositories_GetS3Config: 'repositoryId',
    projects_QueryLinkedRepositories: null,
  },
  packages: {
    repositories_GetDetails: 'repositoryId',
    repositories_QueryPackages: 'repositoryId',
    repositories_QueryAssets: 'repositoryId',
    repositories_GetPackageDetails: null,
    repositories_QueryPackageVersions: null,
    repositories_GetVersionDetails: null,
  },
  links: { projects_QueryLinkedRepositories: 'projectId', repositories_QueryLinkedProjects: 'repositoryId' },
}

type ChangeId = 'organizationId' | 'projectId' | 'deviceId' | 'repositoryId'

/** What the tab that holds the stream tells the others. */
type Message = { kind: 'changes'; changes: LiveChange[] } | { kind: 'opened'; atMs: number }

const STREAM_URL = '/api/v1/live'
const NAME = 'muster.live'
/** The hub pings every 15 s; three missed ones mean that the connection is dead. */
const SILENCE_MS = 45_000
/** A hub that takes half a minute to start again is followed again within seconds. */
const RECONNECT_MS = [1_000, 2_000, 5_000, 10_000]
/** Least time between two refetches of the same query. */
const FLUSH_MS = 400
/** A query rests so many times as long as its last refetch took, up to a bound: what is dear to answer is not asked all the time. */
const REST_FACTOR = 5
const MAX_REST_MS = 5_000

/**
 * Keeps the queries on screen in step with the hub until the returned function is called. All tabs of a browser share one
 * stream: a visible tab that gets the lock holds it, the others listen to a channel; with every tab hidden it is closed.
 */
export function followLiveChanges(queryClient: QueryClient): () => void {
  const refetcher = createRefetcher(queryClient)
  const channel = new BroadcastChannel(NAME)
  let turn: AbortController | undefined

  const receive = (message: Message) => {
    if (message.kind === 'changes') refetcher.changed(message.changes)
    else refetcher.missedBefore(message.atMs)
  }
  const publish = (message: Message) => {
    receive(message)
    channel.postMessage(message)
  }

  function onVisibilityChange() {
    if (document.hidden) {
      turn?.abort()
      turn = undefined
    } else if (!turn) {
      turn = new AbortController()
      holdStreamInTurn(turn.signal, publish)
    }
  }
  // A page that comes back from the browser's cache has heard nothing meanwhile.
  const onPageShow = ({ persisted }: PageTransitionEvent) => persisted && refetcher.missedBefore(Date.now())

  channel.onmessage = ({ data }: MessageEvent<Message>) => receive(data)
  document.addEventListener('visibilitychange', onVisibilityChange)
  window.addEventListener('pageshow', onPageShow)
  onVisibilityChange()
  return () => {
    document.removeEventListener('visibilitychange', onVisibilityChange)
    window.removeEventListener('pageshow', onPageShow)
    turn?.abort()
    channel.close()
    refetcher.stop()
  }
}

/** Waits for the browser-wide lock, then holds the stream until `signal` aborts. */
function holdStreamInTurn(signal: AbortSignal, publish: (message: Message) => void) {
  if (!navigator.locks) {
    // Plain HTTP on a host that is not this machine has no locks: each tab then has a stream of its own.
    openStream(signal, publish)
    return
  }
  navigator.locks
    .request(NAME, { signal }, () => {
      openStream(signal, publish)
      return new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    })
    .catch((error: unknown) => {
      if (!signal.aborted) log.warn('Live updates are off; polling goes on', error)
    })
}

/** Holds the stream open, opening it again after failures and silence, until `signal` aborts. */
function openStream(signal: AbortSignal, publish: (message: Message) => void) {
  let source: EventSource | undefined
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function again(delayMs: number) {
    source?.close()
    clearTimeout(timer)
    if (!signal.aborted) timer = setTimeout(open, delayMs)
  }
  function heard() {
    clearTimeout(timer)
    timer = setTimeout(open, SILENCE_MS)
  }
  function open() {
    source?.close()
    source = new EventSource(STREAM_URL)
    heard()
    source.onopen = () => {
      failures = 0
      heard()
      publish({ kind: 'opened', atMs: Date.now() })
    }
    source.onerror = () => again(RECONNECT_MS[Math.min(failures++, RECONNECT_MS.length - 1)]!)
    source.addEventListener('ping', heard)
    source.addEventListener('changes', ({ data }: MessageEvent<string>) => {
      heard()
      publish({ kind: 'changes', changes: JSON.parse(data) as LiveChange[] })
    })
  }

  open()
  signal.addEventListener(
    'abort',
    () => {
      clearTimeout(timer)
      source?.close()
    },
    { once: true },
  )
}

/** Turns changes into refetches: at once when it is quiet, else at most every 400 ms, after a rest, and never while one is under way. */
function createRefetcher(queryClient: QueryClient) {
  const dirty = new Set<string>()
  const restsUntilMs = new Map<string, number>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastFlushMs = 0

  function mark(isAffected: (query: Query) => boolean) {
    for (const query of queryClient.getQueryCache().findAll({ predicate: isAffected }))
      dirty.add(query.queryHash)
    schedule()
  }
  function schedule() {
    if (timer || dirty.size === 0) return
    timer = setTimeout(flush, Math.max(0, lastFlushMs + FLUSH_MS - Date.now()))
  }
  function flush() {
    timer = undefined
    lastFlushMs = Date.now()
    for (const hash of dirty) {
      const query = queryClient.getQueryCache().get(hash)
      // An answer that is on its way may be older than the change: it is asked again when it is there.
      if (query?.state.fetchStatus === 'fetching' || lastFlushMs < (restsUntilMs.get(hash) ?? 0)) continue
      dirty.delete(hash)
      restsUntilMs.delete(hash)
      // Hidden tabs only take note and refetch when they are looked at.
      const refetchType = document.hidden ? 'none' : 'active'
      if (query && !isGone(query.queryKey)) void refetch(query, refetchType)
    }
    schedule()
  }

  async function refetch({ queryKey, queryHash }: Query, refetchType: 'active' | 'none') {
    const startedMs = Date.now()
    await queryClient.invalidateQueries({ queryKey, exact: true, refetchType })
    const endedMs = Date.now()
    restsUntilMs.set(queryHash, endedMs + Math.min(REST_FACTOR * (endedMs - startedMs), MAX_REST_MS))
  }

  return {
    changed: (changes: readonly LiveChange[]) =>
      mark(({ queryKey }) => !isGone(queryKey) && changes.some(change => isAffectedBy(queryKey, change))),
    /** Something may have happened before that moment that nobody told: whatever was asked earlier is asked again. */
    missedBefore: (atMs: number) =>
      mark(({ queryKey, state }) => isLive(queryKey[0]) && isAskedBefore(state, atMs)),
    stop: () => clearTimeout(timer),
  }
}

/** Whether the answer that a query shows or waits for may be older than that moment, or the hub owes it one. */
function isAskedBefore({ dataUpdatedAt, status, fetchStatus }: Query['state'], atMs: number): boolean {
  return fetchStatus === 'fetching' || status === 'error' || (dataUpdatedAt > 0 && dataUpdatedAt < atMs)
}

const LIVE_ACTIONS = new Set(Object.values(AFFECTED).flatMap(actions => Object.keys(actions)))

function isLive(actionName: unknown): boolean {
  return typeof actionName === 'string' && LIVE_ACTIONS.has(actionName)
}

/** Whether a change touches what a query with this key shows; a change without the id touches all of them. */
export function isAffectedBy([name, input]: readonly unknown[], change: LiveChange): boolean {
  const idName = AFFECTED[change.topic]?.[name as ActionName]
  if (idName === undefined) return false
  if (idName === null || change[idName] === undefined) return true
  return (input as Partial<Record<ChangeId, string>> | undefined)?.[idName] === change[idName]
}
