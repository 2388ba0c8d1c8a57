const UNITS = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['week', 7 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** A relative time in one unit: "now", "50 seconds ago", "3 minutes ago", "in 2 hours". */
export function relativeTime(atMs: number, nowMs: number): string {
  const secs = Math.round((nowMs - atMs) / 1000)
  const distance = Math.abs(secs)
  if (distance < 45) return 'now'
  const words = inWords(distance)
  return secs > 0 ? `${words} ago` : `in ${words}`
}

/** A length of time in one unit: "3 minutes", "11 weeks", "5 years". */
export function inWords(secs: number): string {
  // Weeks up to 90 days, then months: readers know how long "11 weeks" are, but not "30 weeks".
  const [unit, size] = UNITS.find(
    ([name, size]) => secs >= size && !(name === 'month' && secs < 90 * 86_400),
  ) ?? ['second', 1]
  const count = Math.floor(secs / size)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** A duration: in one unit below an hour, in two units from there on. "50 s", "38 min", "2 h 11 min", "4 d 22 h". */
export function durationInWords(secs: number): string {
  const whole = Math.max(0, Math.floor(secs))
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  const hours = Math.floor(minutes / 60)
  if (hours === 0) return `${minutes} min`
  const days = Math.floor(hours / 24)
  return days === 0 ? `${hours} h ${minutes % 60} min` : `${days} d ${hours % 24} h`
}

/** Time since `atMs` as a short text: "12 s", "3 min", "2 h". */
export function shortAge(atMs: number, nowMs: number): string {
  const secs = Math.max(0, Math.round((nowMs - atMs) / 1000))
  if (secs < 60) return `${secs} s`
  if (secs < 3600) return `${Math.floor(secs / 60)} min`
  return `${Math.floor(secs / 3600)} h`
}

const DATE = { day: 'numeric', month: 'long', year: 'numeric' } as const
const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false } as const
const utc = new Intl.DateTimeFormat('en-GB', { ...DATE, ...TIME, timeZone: 'UTC' })
const local = new Intl.DateTimeFormat('en-GB', { ...DATE, ...TIME, timeZoneName: 'short' })

// The Swedish locale formats dates like ISO 8601.
const cell = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' })
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'long', ...DATE })

/** A time in the browser's time zone, short enough for table cells: "2026-11-22 08:44:47". */
export function cellTime(atMs: number): string {
  return cell.format(atMs)
}

/** The day of a time in the browser's time zone: "Sunday 22 November 2026". */
export function dayOf(atMs: number): string {
  return day.format(atMs)
}

/** A full date and time in UTC, followed by a line in the browser's time zone if it differs. */
export function absoluteTime(atMs: number): string {
  const inUtc = `${utc.format(atMs)} UTC`
  const inZone = local.format(atMs)
  return inZone === inUtc ? inUtc : `${inUtc}\n${inZone}`
}
