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
