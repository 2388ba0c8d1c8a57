import type { Entry } from './entry.ts'
import { hourAround } from './time-range.ts'

/**
 * Address of the timeline that shows an entry and opens it: the hour before and the hour after the entry, of all kinds. The text of the
 * time is local, as all times in addresses of the console are.
 */
export function linkTo({ entryId, at }: Entry): string {
  const url = new URL(window.location.href)
  url.search = new URLSearchParams({ ...hourAround(Date.parse(at)), entry: entryId }).toString()
  return url.href
}
