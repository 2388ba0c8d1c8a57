import { readLocalStorage, writeLocalStorage } from '../lib/local-storage.ts'

/** The last counts of a project's devices that the hub answered. */
export type KnownCounts = { path: string; name: string; connected: number; total: number; atMs: number }

/** All last counts of the person who is signed in. `key` belongs to the sign-in and is in the cookie as well. */
type Stored = { key: string; projects: KnownCounts[] }

const STORED_AS = 'muster.counts'
const COOKIE = 'muster-counts'
/** The longest lifetime of a session, "Remember me" (30 days). */
const REMEMBERED_SECS = 30 * 24 * 60 * 60
/** Counts that are older than this are not shown. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000
/** Projects whose counts are stored. */
const MAX_PROJECTS = 50

/**
 * Begins the counts of a new sign-in, without any. Their key is in a cookie that ends with the session: when the browser closes, unless
 * the person is remembered. Scripts cannot see the session's own cookie.
 */
export function beginCounts(isRemembered: boolean) {
  forgetCounts()
  // The offline page exists only where there are service workers, which is also where `randomUUID` is.
  if ('serviceWorker' in navigator) setCookie(crypto.randomUUID(), isRemembered ? REMEMBERED_SECS : undefined)
}

/** Removes the counts, because the session has ended or another person signs in. */
export function forgetCounts() {
  writeLocalStorage(STORED_AS, undefined)
  if (keyOfCounts() !== undefined) setCookie('', 0)
}

/** The key of the present sign-in, or `undefined`. */
export function keyOfCounts(): string | undefined {
  return document.cookie
    .split('; ')
    .find(pair => pair.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1)
}

/** Stores newer counts for the offline page. Does nothing if another sign-in has begun since `key` was read. */
export function storeCounts(key: string, newer: readonly KnownCounts[]) {
  if (keyOfCounts() !== key) return
  const paths = new Set(newer.map(({ path }) => path))
  const older = knownCounts().filter(({ path }) => !paths.has(path))
  const projects = [...newer, ...older].sort((a, b) => b.atMs - a.atMs).slice(0, MAX_PROJECTS)
  writeLocalStorage(STORED_AS, JSON.stringify({ key, projects } satisfies Stored))
}

/** The counts of the present sign-in that are at most 24 h old. Removes all others. */
export function knownCounts(): KnownCounts[] {
  const stored = parse(readLocalStorage(STORED_AS))
  const isOurs = stored !== undefined && stored.key === keyOfCounts()
  const projects = isOurs ? stored.projects.filter(({ atMs }) => Date.now() - atMs < MAX_AGE_MS) : []
  if (stored && projects.length === 0) writeLocalStorage(STORED_AS, undefined)
  return projects
}

function parse(text: string | undefined): Stored | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Stored)
  } catch {
    return undefined
  }
}

function setCookie(value: string, maxAgeSecs: number | undefined) {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  const age = maxAgeSecs === undefined ? '' : `; Max-Age=${maxAgeSecs}`
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Firefox and Safari
  document.cookie = `${COOKIE}=${value}; Path=/; SameSite=Strict${age}${secure}`
}
