/**
 * Whether an update has failed and has not succeeded since (docs/protocol.md 4.4). A device that retries the update still reports its
 * number of failures.
 */
export function hasFailed({
  state,
  failureCount,
}: {
  state: string | undefined
  failureCount: number
}): boolean {
  return state === 'failed' || (failureCount > 0 && state !== 'completed')
}
