import { externalStore, useExternalStore } from '../lib/external-store.ts'

/** The state of a lost connection to the hub. Times are milliseconds since 1970. */
export type LostHub = {
  /** Time of the last message from the hub. The data on screen is from this time. */
  lostAtMs: number
  /** Number of failed attempts to reconnect since `lostAtMs`. */
  attempts: number
  nextTryAtMs: number
  /** HTTP status, for example 502, of the error page of a proxy between browser and hub. */
  proxyStatus?: number
}

const lost = externalStore<LostHub | undefined>(undefined)

/** Reports a lost connection, or `undefined` when the connection is restored. */
export function setLostHub(next: LostHub | undefined) {
  lost.set(next)
}

/** The lost connection to the hub, or `undefined` while the hub answers. For code outside of components. */
export function lostHub(): LostHub | undefined {
  return lost.get()
}

/** The lost connection to the hub, or `undefined` while the hub answers. */
export function useLostHub(): LostHub | undefined {
  return useExternalStore(lost)
}
