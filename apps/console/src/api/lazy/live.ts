import type { LiveChange } from '@muster/actions/client'
import type { Query, QueryClient } from '@tanstack/react-query'
import { log } from '../../lib/log.ts'
import { setRetry } from '../app/retry-hub.ts'
import type { LiveTopics } from '../live-query.ts'
import { type LostHub, lostHub, setLostHub } from '../lost-hub.ts'
import { isGone } from '../queries.ts'
import { LIVE_QUERIES } from './live-queries.ts'
import { takeTurn } from './tab-turn.ts'

const topicsOf = new Map<unknown, LiveTopics>(Object.entries(LIVE_QUERIES))

/** Message from the tab that holds the event stream to all other tabs. Only `retry` is sent in the other direction. */
type Message =
  | { kind: 'changes'; changes: LiveChange[] }
  | { kind: 'opened'; atMs: number }
  | { kind: 'lost'; lost: LostHub | undefined }
  | { kind: 'retry' }

const STREAM_URL = '/api/v1/live'
const NAME = 'muster.live'
/**
 * Time without an event after which the page asks the hub whether it answers. The hub sends a ping every 2 s. Together with the 1.7 s of
 * `probeHub`, a lost hub is reported within 5 s, even if the connection breaks without an error.
 */
const SILENT_AFTER_MS = 2_600
const PROBE_MS = 1_700
/** Like `SILENT_AFTER_MS`, for the first connection of a page. Longer, because the console's files load at the same time. */
const FIRST_WITHIN_MS = 10_000
/**
 * Delays between attempts to reconnect. The last delay repeats, so the stream is back within 10 s after the hub has
 * restarted.
 */
const RECONNECT_MS = [1_000, 2_000, 5_000, 10_000]
/** Minimum time between two batches of refetches, in milliseconds. */
const FLUSH_MS = 400
/**
 * Pause of a query after a refetch, as a multiple of the refetch's duration and at most `MAX_REST_MS`. It keeps
 * expensive queries from running continuously.
 */
const REST_FACTOR = 5
const MAX_REST_MS = 5_000

/**
 * Maximum time for which a page load waits for the live stream to open. Opening takes as long as a request, so pages
 * seldom wait.
 */
const READY_WITHIN_MS = 1_000

/** Subscription to live changes. */
type Following = {
  /**
   * Resolves when the stream is open, has failed, or belongs to another tab, and after 1 s in any case. Never rejects.
   * When the stream opens, queries that were sent or answered earlier are refetched, because changes before that moment were
   * not received.
   */
  ready: Promise<void>
  stop: () => void
}

/**
 * Refetches the queries on screen when their data changes on the hub, until `stop` is called. All tabs of a browser
 * share one stream: a visible tab takes a lock (or the turn, on plain HTTP) and opens the stream, the other tabs listen to a `BroadcastChannel`. The
 * stream is closed while all tabs are hidden.
 */
export function followLiveChanges(queryClient: QueryClient): Following {
  const { promise: ready, resolve: onReady } = Promise.withResolvers<void>()
  const deadline = setTimeout(onReady, READY_WITHIN_MS)
  const refetcher = createRefetcher(queryClient)
  const channel = new BroadcastChannel(NAME)
  let turn: AbortController | undefined

  const receive = (message: Message) => {
    if (message.kind === 'changes') refetcher.changed(message.changes)
    else if (message.kind === 'lost') setLostHub(message.lost)
    else if (message.kind === 'retry') retryHere?.()
    else {
      setLostHub(undefined)
      refetcher.missedBefore(message.atMs)
    }
  }
  const publish = (message: Message) => {
    receive(message)
    channel.postMessage(message)
  }

  setRetry(() => (retryHere ? retryHere() : channel.postMessage({ kind: 'retry' } satisfies Message)))

  function onVisibilityChange() {
    if (document.hidden) {
      turn?.abort()
      turn = undefined
    } else if (!turn) {
      turn = new AbortController()
      holdSharedStream(turn.signal, publish, onReady)
    }
  }
  // A page received no changes while it was in the back/forward cache.
  const onPageShow = ({ persisted }: PageTransitionEvent) => persisted && refetcher.missedBefore(Date.now())

  channel.onmessage = ({ data }: MessageEvent<Message>) => receive(data)
  document.addEventListener('visibilitychange', onVisibilityChange)
  window.addEventListener('pageshow', onPageShow)
  onVisibilityChange()
  if (document.hidden) onReady()
  return {
    ready,
    stop() {
      document.removeEventListener('visibilitychange', onVisibilityChange)
      window.removeEventListener('pageshow', onPageShow)
      clearTimeout(deadline)
      onReady()
      turn?.abort()
      setLostHub(undefined)
      channel.close()
      refetcher.stop()
    },
  }
}

/**
 * Waits for the lock that all tabs share, then keeps the stream open until `signal` aborts. Calls `onReady` when the stream is
 * open or has failed, or when another tab holds the lock.
 */
function holdSharedStream(signal: AbortSignal, publish: (message: Message) => void, onReady: () => void) {
  if (!navigator.locks) {
    // Browsers open at most six connections to a hub without HTTP/2, so a stream for each tab would block the seventh.
    takeTurn(NAME, signal, over => openStream(over, publish, onReady), onReady)
    return
  }
  const waitsForAnotherTab = ({ held = [] }: LockManagerSnapshot) => held.some(({ name }) => name === NAME)
  navigator.locks.query().then(locks => waitsForAnotherTab(locks) && onReady(), onReady)
  navigator.locks
    .request(NAME, { signal }, () => {
      openStream(signal, publish, onReady)
      return new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    })
    .catch((error: unknown) => {
      if (!signal.aborted) log.warn('Live updates are off; polling goes on', error)
    })
}

/** Reconnects immediately. Set only in the tab that holds the stream. */
let retryHere: (() => void) | undefined
/** Whether this page has ever received an event of the hub. */
let hasOpened = false

/** Keeps the stream open until `signal` aborts. Reopens it after an error and after a time without events. */
function openStream(signal: AbortSignal, publish: (message: Message) => void, onReady: () => void) {
  let source: EventSource | undefined
  let failures = 0
  // Keeps the time of the loss if the hub is lost already, for example when this tab was hidden and is visible again.
  let heardAtMs = lostHub()?.lostAtMs ?? Date.now()
  let timer: ReturnType<typeof setTimeout> | undefined
  let attempt = 0

  function after(delayMs: number, run: () => void) {
    clearTimeout(timer)
    if (!signal.aborted) timer = setTimeout(run, delayMs)
  }
  function heard() {
    heardAtMs = Date.now()
    failures = 0
    hasOpened = true
    if (lostHub()) publish({ kind: 'lost', lost: undefined })
    after(SILENT_AFTER_MS, () => void check())
  }
  function open() {
    attempt++
    source?.close()
    source = new EventSource(STREAM_URL)
    after(hasOpened ? SILENT_AFTER_MS : FIRST_WITHIN_MS, () => void check())
    source.onopen = () => {
      publish({ kind: 'opened', atMs: Date.now() })
      heard()
      onReady()
    }
    source.onerror = () => {
      source?.close()
      onReady()
      void check()
    }
    source.addEventListener('ping', heard)
    source.addEventListener('changes', ({ data }: MessageEvent<string>) => {
      heard()
      publish({ kind: 'changes', changes: JSON.parse(data) as LiveChange[] })
    })
  }

  /**
   * After an error or a time without events, asks the hub whether it answers, reports a lost hub, and plans the next attempt. The stream
   * stays open during the check. An event on it ends the check, because on a slow network pings come late behind large answers.
   */
  async function check() {
    const [heardBeforeMs, checked] = [heardAtMs, attempt]
    clearTimeout(timer)
    const refusal = await probeHub()
    if (signal.aborted || heardAtMs !== heardBeforeMs || attempt !== checked) return
    const delayMs = RECONNECT_MS[Math.min(failures++, RECONNECT_MS.length - 1)]!
    const nextTryAtMs = Date.now() + delayMs
    publish({
      kind: 'lost',
      lost: refusal && { ...refusal, lostAtMs: heardAtMs, attempts: failures, nextTryAtMs },
    })
    after(delayMs, open)
  }

  open()
  retryHere = open
  signal.addEventListener(
    'abort',
    () => {
      retryHere = undefined
      clearTimeout(timer)
      source?.close()
    },
    { once: true },
  )
}

/**
 * Checks whether the hub answers, for at most 1.7 s. The error of an event stream has no reason: an ended session breaks the stream too,
 * although the hub answers. Resolves to `undefined` if the hub answers.
 */
async function probeHub(): Promise<{ proxyStatus?: number } | undefined> {
  try {
    const { status } = await fetch('/api/config.json', {
      cache: 'no-store',
      signal: AbortSignal.timeout(PROBE_MS),
    })
    return [502, 503, 504].includes(status) ? { proxyStatus: status } : undefined
  } catch {
    return {}
  }
}

/**
 * Refetches the queries that changes affect. The first change causes a refetch immediately. Later changes are collected and cause
 * the next batch of refetches, at least `FLUSH_MS` after the last batch. A query is left out of a batch while its request is in
 * flight and during its pause (`REST_FACTOR`).
 */
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
      // An answer in flight may be older than the change, and a query must not run in its pause (`REST_FACTOR`). Such queries
      // stay dirty for a later batch of refetches.
      if (query?.state.fetchStatus === 'fetching' || lastFlushMs < (restsUntilMs.get(hash) ?? 0)) continue
      dirty.delete(hash)
      restsUntilMs.delete(hash)
      // A hidden tab only invalidates the query. The refetch follows when the tab becomes visible.
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
    /** Refetches the queries whose answers may be older than `atMs`, because changes before that time were not received. */
    missedBefore: (atMs: number) =>
      mark(({ queryKey, state }) => topicsOf.has(queryKey[0]) && isAskedBefore(state, atMs)),
    stop: () => clearTimeout(timer),
  }
}

/** Whether a query needs a refetch: it has failed, or its answer (shown or in flight) may be older than `atMs`. */
function isAskedBefore({ dataUpdatedAt, status, fetchStatus }: Query['state'], atMs: number): boolean {
  return fetchStatus === 'fetching' || status === 'error' || (dataUpdatedAt > 0 && dataUpdatedAt < atMs)
}

/** Whether a change affects the query with this key. A change without an id affects all queries of its topic. */
export function isAffectedBy([name, input]: readonly unknown[], change: LiveChange): boolean {
  const idName = topicsOf.get(name)?.[change.topic]
  if (idName === undefined) return false
  if (idName === null || change[idName] === undefined) return true
  return (input as Partial<LiveChange> | undefined)?.[idName] === change[idName]
}
