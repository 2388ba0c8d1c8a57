import type { ActionInput } from '@muster/actions/client'
import { anyText, oneOf } from '../../lib/app/search.ts'

/** Way to group pending certificates. */
export type Grouping = NonNullable<ActionInput<'projects_QueryPendingCertificates'>['groupBy']>

/** Ways to group pending certificates, in the order of the menu. */
export const GROUPINGS: Record<Grouping, string> = {
  tokenAndAddress: 'Token and address',
  token: 'Token',
  address: 'Address',
  nothing: 'Nothing',
}

/** Search parameters of the page with pending certificates. */
export const pendingSearch = {
  q: anyText,
  by: oneOf(Object.keys(GROUPINGS) as Grouping[], 'tokenAndAddress'),
  // Id of the bulk action whose result is shown.
  result: anyText,
}
