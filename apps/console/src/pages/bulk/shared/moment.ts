import { clockTime } from '../../../lib/app/local-time.ts'

const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false } as const
const ofYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...TIME })
const ofAnyYear = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  ...TIME,
})

/** A time in the browser's time zone, without the day if it is today: "14:41:07", "20 Nov, 16:41:02". */
export function momentOf(atMs: number, nowMs: number): string {
  const isToday = new Date(atMs).toDateString() === new Date(nowMs).toDateString()
  return isToday ? clockTime(atMs) : dayAndTime(atMs, nowMs)
}

/** A time with its day: "23 Nov, 14:26:08", with the year if it is not the current year. */
export function dayAndTime(atMs: number, nowMs: number): string {
  const isThisYear = new Date(atMs).getFullYear() === new Date(nowMs).getFullYear()
  return (isThisYear ? ofYear : ofAnyYear).format(atMs)
}
