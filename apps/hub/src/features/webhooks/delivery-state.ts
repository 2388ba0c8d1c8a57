/** Pauses after the failed attempts of a message, in seconds: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h. There are eight attempts in all. */
const PAUSES_SECS = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]
/** Share by which a pause is longer or shorter at random, so that messages do not come all at once. */
const JITTER = 0.1
/** Failures in a row after which only the oldest message is tried, and the others keep their attempts. */
export const PROBE_AFTER = 5
/** Days without a success after which a webhook is turned off. */
export const OFF_AFTER_DAYS = 5

/** Pause in seconds before the next attempt of a message after `tries` failed ones. Undefined after the last attempt. */
export function pauseAfter(
  tries: number,
  retryAfterSecs: number | undefined,
  random: () => number = Math.random,
): number | undefined {
  const pause = PAUSES_SECS[tries - 1]
  if (pause === undefined) return undefined
  return Math.max(pause * (1 - JITTER + 2 * JITTER * random()), retryAfterSecs ?? 0)
}
