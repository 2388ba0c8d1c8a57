import { externalStore, useExternalStore } from '../lib/external-store.ts'

/** The state of a lost connection to the hub. Times are milliseconds since 1970. */
export type LostHub = {
  /** The last sign of the hub. What the page shows is from then. */
  lostAtMs: number
  /** Number of failed attempts since then. */
  attempts: number
  nextTryAtMs: number
  /** Status of a proxy's error page, for example 502. */
  proxyStatus?: number
}

const PROBE_MS = 1_700

const lost = externalStore<LostHub | undefined>(undefined)
let retry = () => {}

/** Reports a lost connection, or `undefined` when it is back. */
export function setLostHub(next: LostHub | undefined) {
  lost.set(next)
}

/** Sets the function that connects at once. */
export function setRetry(next: () => void) {
  retry = next
}

/** Tries to connect at once, instead of at the next planned time. */
export function tryNow() {
  retry()
}

/** The lost connection to the hub, or `undefined`, outside of components. */
export function lostHub(): LostHub | undefined {
  return lost.get()
}

/** The lost connection to the hub, or `undefined`. */
export function useLostHub(): LostHub | undefined {
  return useExternalStore(lost)
}

/** A clock of the page that stops while the hub is lost, for durations that only the hub knows to go on. */
export function useKnownNow(nowMs: number): number {
  return Math.min(nowMs, useLostHub()?.lostAtMs ?? nowMs)
}

/**
 * Asks whether the hub answers, for at most 1.7 s. An event stream does not say why it broke: an ended session breaks it as well,
 * and then the hub is not lost. Resolves to `undefined` if the hub answers.
 */
export async function probeHub(): Promise<{ proxyStatus?: number } | undefined> {
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
