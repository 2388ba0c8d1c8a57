const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** A number of bytes with its unit: "12.3 MiB". */
export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024
  return `${value.toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`
}

/** A share in whole percent: "61 %". */
export function shareText(share: number): string {
  return `${Math.round(100 * share)} %`
}

/** A time in UTC, as the logs of a server have it: "2026-11-29 20:10 UTC". */
export function timeText(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** A duration with at most two units: "38 min", "2 h 11 min", "4 d 22 h". */
export function durationText(secs: number): string {
  if (secs < 60) return `${Math.floor(secs)} s`
  const minutes = Math.floor(secs / 60)
  const [hours, days] = [Math.floor(minutes / 60), Math.floor(minutes / 60 / 24)]
  if (hours === 0) return `${minutes} min`
  return days === 0 ? `${hours} h ${minutes % 60} min` : `${days} d ${hours % 24} h`
}
