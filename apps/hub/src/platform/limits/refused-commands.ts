import type { LimitSubject } from '@muster/actions'
import { type Caller, personOf } from '../pipeline/caller.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitName, LimitValues } from './limits.ts'
import type { RateLimits } from './rate-limits.ts'

/** Window of the limits of refused commands, in seconds. */
const WINDOW_SECS = 10 * 60

/** A command that is counted as refused until `passed` is called. */
export type CountedCommand = {
  /** The limit that refused commands of its caller have reached. Then a refusal leaves no row in the audit log. */
  reached: LimitReached | undefined
  /** Subtracts the command, because its caller may run it. */
  passed(): Promise<void>
}

/**
 * Counts refused commands of each device, person and address in the memory of this node, because each refusal is a row in the audit log.
 * Commands are counted before their permission is known, so that concurrent commands are bounded too. Permitted commands are never
 * refused, however many others of the same address or person were.
 */
export class RefusedCommands {
  readonly #values: LimitValues
  readonly #rates: RateLimits

  constructor(values: LimitValues, rates: RateLimits) {
    this.#values = values
    this.#rates = rates
  }

  /** Counts a command. */
  async count(caller: Caller, address: string | undefined): Promise<CountedCommand> {
    const taken: { limit: LimitName; key: string }[] = []
    let reached: LimitReached | undefined
    for (const [limit, key, subject] of countersOf(caller, address)) {
      const max = this.#values[limit]
      const exceeded = await this.#rates.takeWithRate(limit, key, { calls: max, perSecs: WINDOW_SECS })
      if (exceeded === undefined) taken.push({ limit, key })
      else {
        const remedy =
          'Stop commands that are not permitted; they are counted and no longer logged one by one.'
        reached = new LimitReached({ limit, subject, max, remedy, ...exceeded })
        // This refusal leaves no row, so it does not count for the address, whose other callers keep their rows.
        break
      }
    }
    return {
      reached,
      passed: async () => {
        for (const { limit, key } of taken) await this.#rates.giveBackWithRate(limit, key, WINDOW_SECS)
      },
    }
  }
}

/** Counters of a caller: limit, key and subject of the report. The hub itself and its nodes have none. */
function countersOf(caller: Caller, address: string | undefined): [LimitName, string, LimitSubject][] {
  const counters: [LimitName, string, LimitSubject][] = []
  if (caller.actor === 'Device') {
    const { deviceId, tokenId, projectId, organizationId } = caller
    counters.push(['device-refused-commands', deviceId, { deviceId, tokenId, projectId, organizationId }])
  }
  const userId = personOf(caller)?.userId
  if (userId !== undefined) counters.push(['person-refused-commands', userId, { userId }])
  if (address !== undefined) counters.push(['address-refused-commands', address, { address }])
  return counters
}
