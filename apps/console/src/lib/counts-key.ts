import { writeLocalStorage } from './local-storage.ts'

/** Key in `localStorage` of the last device counts (`known-counts.ts`). */
export const COUNTS = 'muster.counts'

/** Name of the cookie with a random key of the current sign-in. Stored counts with another key are not shown. */
export const COUNTS_COOKIE = 'muster-counts'
/** Lifetime, in seconds, of a session with "Remember me": 30 days. */
const REMEMBERED_SECS = 30 * 24 * 60 * 60

/**
 * Removes the stored device counts and creates a key for the counts of a new sign-in. The key has a cookie of its own, because scripts
 * cannot see the session's cookie. Both cookies end at the same time: when the browser closes or, with "Remember me", after 30 days.
 */
export function beginCounts(isRemembered: boolean) {
  forgetCounts()
  // Only browsers with service workers can show the offline page, and all of these have `randomUUID`.
  if ('serviceWorker' in navigator) setCookie(crypto.randomUUID(), isRemembered ? REMEMBERED_SECS : undefined)
}

/** Whether a person has signed in in this browser and seems to be signed in still. Only the hub knows. */
export function hasCounts(): boolean {
  return document.cookie.includes(`${COUNTS_COOKIE}=`)
}

/** Removes the counts, because the session has ended or another person signs in. */
export function forgetCounts() {
  writeLocalStorage(COUNTS, undefined)
  setCookie('', 0)
}

function setCookie(value: string, maxAgeSecs: number | undefined) {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  const age = maxAgeSecs === undefined ? '' : `; Max-Age=${maxAgeSecs}`
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Firefox and Safari
  document.cookie = `${COUNTS_COOKIE}=${value}; Path=/; SameSite=Strict${age}${secure}`
}
