import type { ActionInput } from '@muster/actions/client'

/** Way to group pending certificates. */
export type Grouping = NonNullable<ActionInput<'projects_QueryPendingCertificates'>['groupBy']>

/** Search parameters of the page with pending certificates. */
export type PendingSearch = {
  q?: string
  /** Name of a `Grouping`; any other text groups by token and address. */
  by?: string
  /** Id of the bulk action whose result is shown. */
  result?: string
}

/** Ways to group pending certificates, in the order of the menu. */
export const GROUPINGS: Record<Grouping, string> = {
  tokenAndAddress: 'Token and address',
  token: 'Token',
  address: 'Address',
  nothing: 'Nothing',
}

/** The grouping in the search parameter `by`; by token and address if the parameter is absent or invalid. */
export function groupingOf({ by = '' }: PendingSearch): Grouping {
  return Object.hasOwn(GROUPINGS, by) ? (by as Grouping) : 'tokenAndAddress'
}
