import type { ActionName } from '@muster/actions/client'
import { FairLimiter } from '@muster/concurrency/fair-limiter'
import { setQueryLimits } from '../queries.ts'

/**
 * Concurrency limits for queries that a page sends several times, such as a grid once per card. Browsers open few HTTP/1.1
 * connections per host, so without a limit the cards would delay all other requests.
 */
const LIMITERS: Partial<Record<ActionName, FairLimiter>> = {
  projects_GetSummary: new FairLimiter({ max: 4 }),
  // The hub runs one count at a time for each person.
  projects_QueryDeviceCounts: new FairLimiter({ max: 1 }),
}

/** Applies the limits to all queries that are sent from now on. */
export function limitQueries() {
  setQueryLimits((name, run, signal) => LIMITERS[name]?.run(run, { signal }) ?? run())
}
