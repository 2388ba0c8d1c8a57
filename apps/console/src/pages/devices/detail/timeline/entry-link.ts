import type { Entry } from './entry.ts'
import { localText } from './time-range.ts'

const HOUR_MS = 3_600_000

/**
 * Address of the timeline that shows an entry and opens it: the hour before and the hour after the entry, of all kinds. The text of the
 * time is local, as all times in addresses of the console are.
 */
export function linkTo({ entryId, at }: Entry): string {
  const url = new URL(window.location.href)
  const atMs = Date.parse(at)
  url.search = new URLSearchParams({
    from: localText(new Date(atMs - HOUR_MS)),
    to: localText(new Date(atMs + HOUR_MS)),
    entry: entryId,
  }).toString()
  return url.href
}
