import { readFileSync } from 'node:fs'

/** File descriptors assumed when the process has no limit or the limit cannot be read. */
const UNLIMITED = 1_048_576

/**
 * Soft limit of open files of this process. At its start Node raises the soft limit to the hard limit. On Linux the limit is
 * read from `/proc`, elsewhere from Node's diagnostic report, which takes tens of milliseconds.
 */
export function processDescriptors(): number {
  const text = softLimit()
  return /^\d+$/.test(text) ? Number(text) : UNLIMITED
}

function softLimit(): string {
  try {
    return /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? ''
  } catch {
    const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
    return String(userLimits?.open_files?.soft ?? '')
  }
}

/**
 * Number of descriptors that connections of devices may take. The other descriptors are reserved for people, health checks, the
 * database and files: 256 plus a sixteenth of the limit, but at most half of the limit.
 */
export function descriptorsForDevices(maxDescriptors: number): number {
  return maxDescriptors - Math.min(Math.floor(maxDescriptors / 2), 256 + Math.floor(maxDescriptors / 16))
}

/**
 * Number of descriptors that all connections together may take: those of devices and half of the reserve. The other half of the reserve is
 * for the database and files. At this number idle connections are closed.
 */
export function descriptorsForConnections(maxDescriptors: number): number {
  return maxDescriptors - Math.floor((maxDescriptors - descriptorsForDevices(maxDescriptors)) / 2)
}
