const UNITS = ['B', 'KiB', 'MiB', 'GiB'] as const

/** A size in bytes with its unit: whole bytes, above them one decimal, never a unit above GiB (spec 9). */
export function formatBytes(bytes: number): string {
  let value = Math.max(0, bytes)
  let unit = 0
  // The rounded value decides, so that nothing reads "1024.0 KiB".
  while (unit < UNITS.length - 1 && Number(value.toFixed(unit === 0 ? 0 : 1)) >= 1024) {
    value /= 1024
    unit++
  }
  return `${value.toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`
}

/** A duration in seconds: "95 s" under 120 s, else days, hours and minutes without leading zero parts (spec 9, decisions). */
export function formatDuration(secs: number): string {
  const whole = Math.max(0, Math.floor(secs))
  if (whole < 120) return `${whole} s`
  const days = Math.floor(whole / 86_400)
  const hours = Math.floor((whole % 86_400) / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  if (days > 0) return `${days} d ${hours} h ${minutes} m`
  return hours > 0 ? `${hours} h ${minutes} m` : `${minutes} m`
}

/** A share between 0 and 1 as a whole percentage, "61 %" (spec 9). */
export function formatPercent(share: number): string {
  return `${Math.round(Math.min(1, Math.max(0, share)) * 100)} %`
}

/** A share between 0 and 1 with one decimal, cut and not rounded: only all of it reads "100 %". */
export function formatShare(share: number): string {
  const tenths = Math.floor(Math.min(1, Math.max(0, share)) * 1000 + 1e-9)
  return tenths % 1000 === 0 ? `${tenths / 10} %` : `${(tenths / 10).toFixed(1)} %`
}

const grouped = new Intl.NumberFormat('en')

/** A count with its thousands grouped. */
export function formatCount(count: number): string {
  return grouped.format(count)
}

/** A count with what is counted: "1 device", "1,000 devices". */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}
