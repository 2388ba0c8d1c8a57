import type { Entry } from './entry.ts'
import { hourAround } from './time-range.ts'

/**
 * URL of the page on screen, with the given entry opened. The page then covers one hour before and after the entry, without other filters.
 * Times in the URL are local.
 */
export function linkTo({ entryId, at }: Entry): string {
  const url = new URL(window.location.href)
  url.search = new URLSearchParams({ ...hourAround(Date.parse(at)), entry: entryId }).toString()
  return url.href
}
