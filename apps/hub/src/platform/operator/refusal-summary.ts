import type { Server } from 'node:https'
import type { Logger } from '../runtime/log.ts'

/** Interval of the summaries in milliseconds. */
const SUMMARY_MS = 60_000
/** Largest number of causes of failed handshakes that are told apart. OpenSSL knows hundreds, and clients choose. */
const MAX_CAUSES = 20

/**
 * Counts refusals that leave neither a line nor a row of their own, because a flood of them would fill the log: refused queries, calls above a
 * rate, and failed TLS handshakes. Logs them in one line a minute, and what is left at its disposal. A minute without any has no line.
 */
export class RefusalSummary implements Disposable {
  readonly #log: Logger
  readonly #timer: ReturnType<typeof setInterval>
  #queries: Record<string, number> = {}
  #limits: Record<string, number> = {}
  #handshakes: Record<string, number> = {}

  constructor(log: Logger, intervalMs = SUMMARY_MS) {
    this.#log = log
    this.#timer = setInterval(() => this.#report(), intervalMs).unref()
  }

  /** Counts a query that was not permitted, by the name of its action. */
  query(name: string): void {
    count(this.#queries, name)
  }

  /** Counts a call above a rate, by the kind of the rate. */
  limit(kind: string): void {
    count(this.#limits, kind)
  }

  /** Counts failed TLS handshakes of a server, by their cause. */
  watch(server: Server): void {
    server.on('tlsClientError', (error: NodeJS.ErrnoException) => {
      const cause = error.code ?? 'unknown'
      const isKnown = cause in this.#handshakes || Object.keys(this.#handshakes).length < MAX_CAUSES
      count(this.#handshakes, isKnown ? cause : 'others')
    })
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#report()
  }

  #report(): void {
    const line = { queries: this.#queries, limits: this.#limits, handshakes: this.#handshakes }
    this.#queries = {}
    this.#limits = {}
    this.#handshakes = {}
    if (Object.values(line).some(counts => Object.keys(counts).length > 0))
      this.#log.info(line, 'refusals in the last minute')
  }
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1
}
