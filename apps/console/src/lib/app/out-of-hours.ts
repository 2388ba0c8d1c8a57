/** A time range in milliseconds since 1970. */
type Range = { fromMs: number; untilMs: number }

/** The latest night that has begun, from 18:00 to 08:00 local time. */
export function lastNight(nowMs: number): Range {
  const now = new Date(nowMs)
  const day = now.getHours() < 18 ? -1 : 0
  return { fromMs: at(now, day, 18), untilMs: at(now, day + 1, 8) }
}

/** The latest weekend that has begun, from Friday 18:00 to Monday 08:00 local time. */
export function lastWeekend(nowMs: number): Range {
  const now = new Date(nowMs)
  const sinceFriday = (now.getDay() + 2) % 7
  const friday = at(now, -sinceFriday, 18) <= nowMs ? -sinceFriday : -sinceFriday - 7
  return { fromMs: at(now, friday, 18), untilMs: at(now, friday + 3, 8) }
}

function at(day: Date, daysLater: number, hour: number): number {
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + daysLater, hour).getTime()
}
