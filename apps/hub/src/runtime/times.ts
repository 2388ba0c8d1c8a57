/** A date as it goes over the wire. */
export function wireTime(date: Date): string {
  return date.toISOString()
}

/** A time as the database writes it, in UTC and up to microseconds, as it goes over the wire: a long list has many. */
export function wireTimeOf(text: string): string {
  const fraction = text.slice(20, -'+00'.length)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
}

/** Whole seconds between two dates, never negative. */
export function secsBetween(from: Date, to: Date): number {
  return Math.max(0, Math.floor((to.getTime() - from.getTime()) / 1000))
}
