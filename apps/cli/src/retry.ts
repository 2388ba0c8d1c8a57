import { setTimeout as wait } from 'node:timers/promises'
import { ActionError } from '@muster/actions/client'
import { Backoff } from '@muster/link'
import { CliError } from './errors.ts'

const ATTEMPTS = 6
/** Longest pause between two attempts, in milliseconds. */
const MAX_PAUSE_MS = 20_000
/** Errors of the local disk, which no retry resolves. */
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

/**
 * Runs a transfer until it succeeds, with growing pauses. Throws the error of the last attempt, or the first error that a retry
 * cannot resolve.
 */
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

/**
 * Statuses that a retry can resolve: timeout (408), conflict (409), blob whose bytes were uploaded already (412), too early
 * (425), rate limit (429).
 */
const PASSING_STATUSES = new Set([408, 409, 412, 425, 429])

/** Whether the same attempt would fail again: the hub refuses it, or this machine has no such file or no room. */
export function isFinal(error: unknown): boolean {
  if (error instanceof CliError) return error.isFinal
  if (error instanceof ActionError)
    return error.status >= 300 && error.status < 500 && !PASSING_STATUSES.has(error.status)
  return error instanceof Error && 'code' in error && LOCAL_CODES.has(String(error.code))
}
