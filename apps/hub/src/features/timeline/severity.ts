import type { EventSeverity } from '@muster/actions'
import type { z } from 'zod'

/** Severity of an entry. Entries that are no events have the severity that an event of the same content would have. */
export type Severity = z.output<typeof EventSeverity>

const ORDER: readonly Severity[] = ['Trace', 'Debug', 'Info', 'Warning', 'Error', 'Critical']

/** Whether a severity is at least `least`; true without `least`. */
export function isAtLeast(severity: Severity, least: Severity | undefined): boolean {
  return least === undefined || ORDER.indexOf(severity) >= ORDER.indexOf(least)
}
