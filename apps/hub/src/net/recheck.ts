/** How often the right to an open connection is looked at, in milliseconds: it may be open for days. */
const RECHECK_MS = 5_000

/** Calls `end` when the right to something has ended meanwhile; the returned function stops looking. */
export function endWithRight(isAllowed: () => Promise<boolean>, end: () => void): () => void {
  // A database that is away for a moment takes no right away.
  const look = (): Promise<void> => isAllowed().then(isStill => void (isStill || end()), ignore)
  const timer = setInterval(() => void look(), RECHECK_MS)
  return () => clearInterval(timer)
}

function ignore(): void {}
