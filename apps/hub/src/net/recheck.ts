/** Interval at which the permission of an open connection is checked, in milliseconds. A connection may be open for days. */
const RECHECK_MS = 5_000

/** Checks a permission every 5 s and calls `end` when it was revoked. The returned function stops the checks. */
export function recheckPermission(isAllowed: () => Promise<boolean>, end: () => void): () => void {
  // A check that fails, for example during a failover of the database, does not end the connection.
  const check = (): Promise<void> => isAllowed().then(isStill => void (isStill || end()), ignore)
  const timer = setInterval(() => void check(), RECHECK_MS)
  return () => clearInterval(timer)
}

function ignore(): void {}
