import { hourAndMinute } from '../../../lib/app/local-time.ts'

const exact = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hour12: false,
})
const exactUtc = new Intl.DateTimeFormat('en-GB', { ...exact.resolvedOptions(), timeZone: 'UTC' } as never)
const longDay = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' })

/** Day and time of day in the browser's time zone: "Sunday 22 November 18:00". */
export function dayAndTime(atMs: number): string {
  return `${longDay.format(atMs).replace(',', '')} ${hourAndMinute(atMs)}`
}

/** Date and time with milliseconds in the browser's time zone and in UTC. */
export function exactTimes(atMs: number): { local: string; utc: string } {
  return { local: exact.format(atMs).replace(' at ', ', '), utc: exactUtc.format(atMs).replace(' at ', ', ') }
}

/** IANA name of the browser's time zone, such as "Europe/Berlin". */
export function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}
