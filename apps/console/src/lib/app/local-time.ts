const TIME = { hour: '2-digit', minute: '2-digit', hour12: false } as const
const minutes = new Intl.DateTimeFormat('en-GB', TIME)
const seconds = new Intl.DateTimeFormat('en-GB', { ...TIME, second: '2-digit' })
const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const long = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long' })
const longWithYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })
const offset = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'shortOffset' })
const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'long' })

/** A time of day in the browser's time zone: "08:41". */
export function hourAndMinute(atMs: number): string {
  return minutes.format(atMs)
}

/** A time of day with seconds in the browser's time zone: "08:41:10". */
export function clockTime(atMs: number): string {
  return seconds.format(atMs)
}

/** Difference of the browser's time zone from UTC at a time: "UTC+1", "UTC". */
export function utcOffset(atMs: number): string {
  const name = offset.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT'
  return name.replace('GMT', 'UTC').replace(/^UTC[+-]0$/, 'UTC')
}

/**
 * The offset of a time where it differs from that of `nowMs`, else undefined. Lists name the present offset once, and rows before or after a
 * change to summer time name theirs.
 */
export function otherOffset(atMs: number, nowMs: number): string | undefined {
  const found = utcOffset(atMs)
  return found === utcOffset(nowMs) ? undefined : found
}

/** A day in the browser's time zone: "22 Nov"; a dash for NaN, the time of a text that is no date. */
export function shortDay(atMs: number): string {
  return Number.isNaN(atMs) ? '–' : short.format(atMs)
}

/** A day in the browser's time zone: "22 November". */
export function dayAndMonth(atMs: number): string {
  return long.format(atMs)
}

/** A day in the browser's time zone: "2 March 2026". */
export function dayWithYear(atMs: number): string {
  return longWithYear.format(atMs)
}

/** A date and a time of day in the browser's time zone: "30 November 2026, 09:12". */
export function dateAndMinute(atMs: number): string {
  return `${dayWithYear(atMs)}, ${hourAndMinute(atMs)}`
}

/**
 * A time in the browser's time zone for a sentence: "today, 13:58", "yesterday, 02:14", "on Sunday 22 November, 02:14". `on` is the
 * preposition before a date and empty before the other forms.
 */
export function momentInWords(atMs: number, nowMs: number): { on: string; text: string } {
  const daysAgo = daysBetween(atMs, nowMs)
  const time = hourAndMinute(atMs)
  if (daysAgo === 0) return { on: '', text: `today, ${time}` }
  if (daysAgo === 1) return { on: '', text: `yesterday, ${time}` }
  return { on: 'on ', text: `${weekday.format(atMs)} ${dayInYear(atMs, nowMs)}, ${time}` }
}

/** The time when something began, in the browser's time zone: "14:02" if it was today, else "22 November, 14:02". */
export function sinceInWords(atMs: number, nowMs: number): string {
  const time = hourAndMinute(atMs)
  return daysBetween(atMs, nowMs) === 0 ? time : `${dayInYear(atMs, nowMs)}, ${time}`
}

/** The time of an event in a sentence: "at 14:02" if it was today, else "on 22 November, 14:02". */
export function atInWords(atMs: number, nowMs: number): string {
  return `${daysBetween(atMs, nowMs) === 0 ? 'at' : 'on'} ${sinceInWords(atMs, nowMs)}`
}

/** A day as "14 November", with its year if it is not the year of `nowMs`. */
export function dayInYear(atMs: number, nowMs: number): string {
  const isThisYear = new Date(atMs).getFullYear() === new Date(nowMs).getFullYear()
  return (isThisYear ? long : longWithYear).format(atMs)
}

/** Number of local days from one time to another. Rounding makes up for days of 23 and 25 hours. */
function daysBetween(fromMs: number, toMs: number): number {
  return Math.round(
    (new Date(toMs).setHours(0, 0, 0, 0) - new Date(fromMs).setHours(0, 0, 0, 0)) / 86_400_000,
  )
}

/** A day in the format of `date` fields: `YYYY-MM-DD` in the browser's time zone. */
export function localDay(atMs: number): string {
  return localMinute(atMs).slice(0, 10)
}

/** A time in the format of `datetime-local` fields: `YYYY-MM-DDTHH:MM` in the browser's time zone. */
export function localMinute(atMs: number): string {
  const at = new Date(atMs)
  const two = (part: number) => String(part).padStart(2, '0')
  const day = `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}
