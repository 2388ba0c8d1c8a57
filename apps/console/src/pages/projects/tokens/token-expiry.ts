import { dateAndMinute } from '../../../lib/app/local-time.ts'

/** Choices for the expiry of a new deployment token: after this number of hours, on a date, or never. */
export const EXPIRIES = [
  { value: '24', label: 'In 24 hours' },
  { value: '168', label: 'In 7 days' },
  { value: '720', label: 'In 30 days' },
  { value: 'date', label: 'On a date' },
  { value: 'never', label: 'Never' },
] as const

/** A choice of `EXPIRIES`. */
export type Expiry = (typeof EXPIRIES)[number]['value']

/** Time at which a token expires. `date` is a local time as in `datetime-local` fields. Undefined for "Never" and for an invalid date. */
export function expiryTimeMs(expiry: Expiry, date: string, nowMs: number): number | undefined {
  if (expiry === 'never') return undefined
  const atMs = expiry === 'date' ? Date.parse(date) : nowMs + Number(expiry) * 3_600_000
  return Number.isNaN(atMs) ? undefined : atMs
}

/** The consequence of an expiry time. Undefined means that the token never expires. */
export function expirySentence(expiresAtMs: number | undefined): string {
  return expiresAtMs === undefined
    ? 'Admits new devices until it is deleted.'
    : `Refuses new devices from ${dateAndMinute(expiresAtMs)} on. Enrolled devices stay connected.`
}
