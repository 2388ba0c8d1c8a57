import { COUNTS, COUNTS_COOKIE } from '../lib/counts-key.ts'
import { readLocalStorage, writeLocalStorage } from '../lib/local-storage.ts'

/** The last device counts of a project that the hub sent. */
export type KnownCounts = { path: string; name: string; connected: number; total: number; atMs: number }

/** Device counts of projects that this browser keeps for one session. `key` is the value of the cookie `COUNTS_COOKIE` in this session. */
type Stored = { key: string; projects: KnownCounts[] }

/** Maximum age, in milliseconds, of counts that are shown. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000
/** Maximum number of projects whose counts are stored. */
const MAX_PROJECTS = 50

/** The key of the present sign-in, or `undefined`. */
export function keyOfCounts(): string | undefined {
  return new RegExp(`(?:^|; )${COUNTS_COOKIE}=([^;]+)`).exec(document.cookie)?.[1]
}

/** Stores newer counts for the offline page. Does nothing if another sign-in has begun since `key` was read. */
export function storeCounts(key: string, newer: readonly KnownCounts[]) {
  if (keyOfCounts() !== key) return
  const paths = new Set(newer.map(({ path }) => path))
  const older = knownCounts().filter(({ path }) => !paths.has(path))
  const projects = [...newer, ...older].sort((a, b) => b.atMs - a.atMs).slice(0, MAX_PROJECTS)
  writeLocalStorage(COUNTS, JSON.stringify({ key, projects } satisfies Stored))
}

/** The counts of the present sign-in that are less than 24 h old. If all stored counts are older or of another sign-in, removes them. */
export function knownCounts(): KnownCounts[] {
  const stored = parse(readLocalStorage(COUNTS))
  const isOurs = stored !== undefined && stored.key === keyOfCounts()
  const projects = isOurs ? stored.projects.filter(({ atMs }) => Date.now() - atMs < MAX_AGE_MS) : []
  if (stored && projects.length === 0) writeLocalStorage(COUNTS, undefined)
  return projects
}

function parse(text: string | undefined): Stored | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Stored)
  } catch {
    return undefined
  }
}
