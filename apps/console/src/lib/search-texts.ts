import { MAX_FILTER_LENGTH, MAX_KIND_LENGTH } from '@muster/actions/client'
import type { SearchSchemaInput } from '@tanstack/react-router'
import type { PageSearch, SearchOf } from './app/search.ts'

/** Maximum lengths of filter texts that the hub accepts, by search parameter. */
const LIMITS: Record<string, number> = {
  q: MAX_FILTER_LENGTH,
  actor: MAX_FILTER_LENGTH,
  type: MAX_KIND_LENGTH,
  category: MAX_KIND_LENGTH,
  subject: MAX_KIND_LENGTH,
}

/**
 * Validates the search parameters of a route: they are texts that the hub accepts. `Page` is the type of the page's declaration, by which
 * links are checked. The page itself reads the words of its parameters (`usePageSearch`), so that routes do not load the declaration.
 */
export function searchTexts<Page extends PageSearch>(
  search: SearchOf<Page> & SearchSchemaInput,
): { [Name in keyof Page]?: string } {
  // An invalid parameter must be set to `undefined` explicitly: the router merges this result into the parsed parameters.
  return Object.fromEntries(
    Object.entries(search).map(([name, value]) => [name, textOf(value, LIMITS[name])]),
  ) as { [Name in keyof Page]?: string }
}

function textOf(value: unknown, limit = Number.POSITIVE_INFINITY): string | undefined {
  // The router's URL decoder turns `12` and `true` into a number and a boolean before it calls the parser of `parseSearchWith`.
  const text = ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : ''
  return text !== '' && !text.includes('\0') && text.length <= limit ? text : undefined
}
