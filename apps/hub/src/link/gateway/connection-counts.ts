import type { LinkEnd } from '@muster/link'
import type { Logger } from '../../platform/runtime/log.ts'
import type { RefusalReason } from './refusal.ts'

/** Interval of the log lines, in milliseconds. */
const SUMMARY_MS = 60_000

/** Counts the connections of this node since its start, for metrics and for a log line each minute. */
export class ConnectionCounts {
  #registered = 0
  #unregistered = 0
  #takeovers = 0
  readonly #ends = new Map<LinkEnd['kind'], number>()
  readonly #refusals = new Map<RefusalReason, number>()

  /** Admitted registered connections of devices. */
  get registered(): number {
    return this.#registered
  }

  /** Admitted unregistered connections of devices, which one-shot commands open. */
  get unregistered(): number {
    return this.#unregistered
  }

  /** Registered connections that a newer connection of the same device has ended. */
  get takeovers(): number {
    return this.#takeovers
  }

  /** Ended connections of devices by the kind of their end. */
  get ends(): ReadonlyMap<LinkEnd['kind'], number> {
    return this.#ends
  }

  /** Refused connections of devices and command-line clients by reason. */
  get refusals(): ReadonlyMap<RefusalReason, number> {
    return this.#refusals
  }

  /** Counts an admitted connection of a device. */
  connected(isRegistered: boolean): void {
    if (isRegistered) this.#registered++
    else this.#unregistered++
  }

  /** Counts the end of a connection of a device. */
  ended(kind: LinkEnd['kind']): void {
    this.#ends.set(kind, (this.#ends.get(kind) ?? 0) + 1)
  }

  /** Counts a registered connection that a newer connection of the same device has ended. */
  takenOver(): void {
    this.#takeovers++
  }

  /** Counts a refused connection. */
  refused(reason: RefusalReason): void {
    this.#refusals.set(reason, (this.#refusals.get(reason) ?? 0) + 1)
  }
}

/**
 * Logs each minute how many connections began, ended and were refused, at level info. Lines of single connections have the level debug,
 * because a large fleet would fill the log. A minute without changes has no line.
 */
export function logConnections(
  counts: ConnectionCounts,
  connectedCount: () => number,
  log: Logger,
  intervalMs = SUMMARY_MS,
): Disposable {
  let { registered, unregistered } = counts
  let ends = new Map(counts.ends)
  let refusals = new Map(counts.refusals)
  const timer = setInterval(() => {
    const line = {
      connects: counts.registered - registered,
      oneShotCommands: counts.unregistered - unregistered,
      ends: added(counts.ends, ends),
      refusals: added(counts.refusals, refusals),
    }
    registered = counts.registered
    unregistered = counts.unregistered
    ends = new Map(counts.ends)
    refusals = new Map(counts.refusals)
    const isQuiet =
      line.connects + line.oneShotCommands + Object.keys({ ...line.ends, ...line.refusals }).length === 0
    if (!isQuiet) log.info({ devices: connectedCount(), ...line }, 'connections in the last minute')
  }, intervalMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** Differences between two states of the counts, without the counts that did not grow. */
function added<Key extends string>(
  now: ReadonlyMap<Key, number>,
  before: ReadonlyMap<Key, number>,
): Record<string, number> {
  const grown = [...now].map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const)
  return Object.fromEntries(grown.filter(([, count]) => count > 0))
}
