const TIME = { hour: '2-digit', minute: '2-digit', hour12: false } as const
const minutes = new Intl.DateTimeFormat('en-GB', TIME)
const seconds = new Intl.DateTimeFormat('en-GB', { ...TIME, second: '2-digit' })
const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const long = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long' })

/** A time of day in the browser's time zone: "08:41". */
export function hourAndMinute(atMs: number): string {
  return minutes.format(atMs)
}

/** A time of day with seconds in the browser's time zone: "08:41:10". */
export function clockTime(atMs: number): string {
  return seconds.format(atMs)
}

/** A day in the browser's time zone: "22 Nov". */
export function shortDay(atMs: number): string {
  return short.format(atMs)
}

/** A day in the browser's time zone: "22 November". */
export function dayAndMonth(atMs: number): string {
  return long.format(atMs)
}
