const CLOCK_CODES: ReadonlySet<unknown> = new Set(['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED'])

/**
 * Addition to the message of a TLS error that a wrong clock of this machine may cause. A device without a battery starts with a time in the past.
 * Empty for all other errors.
 */
export function clockHint(error: Error, nowMs = Date.now()): string {
  if (!('code' in error) || !CLOCK_CODES.has(error.code)) return ''
  const time = new Date(nowMs).toISOString().replace('T', ' ').slice(0, 16)
  return ` (the clock of this machine says ${time} UTC: set it if that is wrong)`
}
