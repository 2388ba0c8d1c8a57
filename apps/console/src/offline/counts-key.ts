import { writeLocalStorage } from '../lib/local-storage.ts'

/** Key of the last counts in the storage of the browser (`known-counts.ts`). */
export const COUNTS = 'muster.counts'

/** Cookie with the key of the present sign-in. */
export const COUNTS_COOKIE = 'muster-counts'
/** The longest lifetime of a session, "Remember me" (30 days). */
const REMEMBERED_SECS = 30 * 24 * 60 * 60

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
  writeLocalStorage(COUNTS, undefined)
  setCookie('', 0)
}

function setCookie(value: string, maxAgeSecs: number | undefined) {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  const age = maxAgeSecs === undefined ? '' : `; Max-Age=${maxAgeSecs}`
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Firefox and Safari
  document.cookie = `${COUNTS_COOKIE}=${value}; Path=/; SameSite=Strict${age}${secure}`
}
