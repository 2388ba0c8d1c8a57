const UNITS = ['B', 'KiB', 'MiB', 'GiB'] as const

/** A size with its unit: whole bytes, larger units with one decimal, GiB at most (docs/specification.md 9). */
export function formatBytes(bytes: number): string {
  let value = Math.max(0, bytes)
  let unit = 0
  // Compares the rounded value, so that no text reads "1024.0 KiB".
  while (unit < UNITS.length - 1 && Number(value.toFixed(unit === 0 ? 0 : 1)) >= 1024) {
    value /= 1024
    unit++
  }
  return `${value.toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`
}

/** A duration: "95 s" below 120 s, else days, hours and minutes without leading zero parts (docs/specification.md 9). */
export function formatDuration(secs: number): string {
  const whole = Math.max(0, Math.floor(secs))
  if (whole < 120) return `${whole} s`
  const days = Math.floor(whole / 86_400)
  const hours = Math.floor((whole % 86_400) / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  if (days > 0) return `${days} d ${hours} h ${minutes} min`
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`
}

/** A measured duration: "12 ms", "0.4 s", "18.6 s", "1 min 22 s", "25 min", "2 h 4 min". */
export function formatMs(ms: number): string {
  if (ms < 100) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const secs = Math.round(ms / 1000)
  const minutes = Math.floor(secs / 60)
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return secs % 60 === 0 ? `${minutes} min` : `${minutes} min ${secs % 60} s`
}

/** A share between 0 and 1 as a whole percentage, "61 %" (docs/specification.md 9). */
export function formatPercent(share: number): string {
  return `${Math.round(Math.min(1, Math.max(0, share)) * 100)} %`
}

/**
 * A share between 0 and 1 as a percentage with one decimal, "95.2 %". It is truncated, not rounded, so that only a share
 * of 1 reads "100 %".
 */
export function formatShare(share: number): string {
  const tenths = Math.floor(Math.min(1, Math.max(0, share)) * 1000 + 1e-9)
  return tenths % 1000 === 0 ? `${tenths / 10} %` : `${(tenths / 10).toFixed(1)} %`
}

const grouped = new Intl.NumberFormat('en')

/** A count with grouped thousands, "1,000". */
export function formatCount(count: number): string {
  return grouped.format(count)
}

const ordinals = new Intl.PluralRules('en', { type: 'ordinal' })
const ENDINGS: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' }

/** A place in a sequence: "1st", "22nd", "1,013th". */
export function ordinal(place: number): string {
  return `${formatCount(place)}${ENDINGS[ordinals.select(place)] ?? 'th'}`
}

/** A count with its noun: "1 device", "1,000 devices". */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** Formats a number of times, for example "once" or "6 times". */
export function howOften(count: number): string {
  return count === 1 ? 'once' : counted(count, 'time')
}
