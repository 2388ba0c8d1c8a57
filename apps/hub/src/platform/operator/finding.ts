/** Result of a check of `muster-hub doctor`. `advice` says what to change. */
export type Finding =
  | { state: 'ok'; finding: string }
  | { state: 'warning' | 'error'; finding: string; advice: string }

/** A check of `muster-hub doctor`. Rejects with an error that says what is wrong. */
export type Probe = {
  name: string
  run: (signal: AbortSignal) => Promise<Finding | Finding[]>
  /** What to change if the check rejects. */
  advice: string
}

/** Finding of a check that is in order. */
export function ok(finding: string): Finding {
  return { state: 'ok', finding }
}

/** Finding that does not prevent the hub from working. */
export function warning(finding: string, advice: string): Finding {
  return { state: 'warning', finding, advice }
}

/** Finding that prevents the hub, or a part of it, from working. */
export function failure(finding: string, advice: string): Finding {
  return { state: 'error', finding, advice }
}
