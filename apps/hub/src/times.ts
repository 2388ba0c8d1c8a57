/** A date as it goes over the wire. */
export function wireTime(date: Date): string {
  return date.toISOString()
}

/** Whole seconds between two dates, never negative. */
export function secsBetween(from: Date, to: Date): number {
  return Math.max(0, Math.floor((to.getTime() - from.getTime()) / 1000))
}
