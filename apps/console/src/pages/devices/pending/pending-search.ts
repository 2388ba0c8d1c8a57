import type { ActionInput } from '@muster/actions/client'

/** By what pending certificates are grouped. */
export type Grouping = NonNullable<ActionInput<'projects_QueryPendingCertificates'>['groupBy']>

/** Search parameters of the page with pending certificates. */
export type PendingSearch = {
  q?: string
  by?: Grouping
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

/** The value if it is a way to group, else `undefined`. */
export function groupingOf(value: unknown): Grouping | undefined {
  return typeof value === 'string' && Object.hasOwn(GROUPINGS, value) ? (value as Grouping) : undefined
}
