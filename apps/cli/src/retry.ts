import { setTimeout as wait } from 'node:timers/promises'
import { ActionError } from '@muster/actions/client'
import { Backoff } from '@muster/link'

const ATTEMPTS = 6
/** Longest pause between two attempts, in milliseconds. */
const MAX_PAUSE_MS = 20_000
/** Failures of the disk here, which no further attempt mends. */
const LOCAL_CODES = new Set([
  'EACCES',
  'EDQUOT',
  'EFBIG',
  'EIO',
  'EISDIR',
  'ENAMETOOLONG',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'EPERM',
  'EROFS',
])

/** Runs a transfer until it succeeds, with growing pauses; throws its last error, or the first that no other attempt would mend. */
export async function retry<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const backoff = new Backoff({ capMs: MAX_PAUSE_MS })
  for (let left = ATTEMPTS; ; left--) {
    try {
      return await attempt()
    } catch (error) {
      signal.throwIfAborted()
      if (left === 1 || isFinal(error)) throw error
      const afterSecs = error instanceof ActionError ? (error.retryAfterSecs ?? 0) : 0
      await wait(backoff.nextDelayMs(afterSecs * 1000), undefined, { signal })
    }
  }
}

/** Refusals that are about the moment: too slow, a conflict, an object that is just there, too early, too often. */
const PASSING_STATUSES = new Set([408, 409, 412, 425, 429])

function isFinal(error: unknown): boolean {
  if (error instanceof ActionError)
    return error.status >= 300 && error.status < 500 && !PASSING_STATUSES.has(error.status)
  return error instanceof Error && 'code' in error && LOCAL_CODES.has(String(error.code))
}
