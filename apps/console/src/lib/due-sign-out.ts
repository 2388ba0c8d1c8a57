import { readLocalStorage, writeLocalStorage } from './local-storage.ts'

/** Key in `localStorage` of a sign-out that did not reach the hub. The cookie of the session is still there: scripts cannot remove it. */
const DUE = 'muster.sign-out'

/** Whether the session of this browser has to be ended at the hub before anybody is taken for signed in. */
export function isSignOutDue(): boolean {
  return readLocalStorage(DUE) !== undefined
}

/** Remembers that a sign-out did not reach the hub, or forgets it. */
export function setSignOutDue(isDue: boolean) {
  writeLocalStorage(DUE, isDue ? 'due' : undefined)
}
