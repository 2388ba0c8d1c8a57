import type { Bus } from './bus.ts'
import type { EndedRight } from './messages.ts'

/**
 * Interval, in milliseconds, at which a person's permission for open connections is checked. A connection may be open for days. With the
 * time of the check, an ended right takes effect within the promised 5 s (docs/operating.md, "Several nodes").
 */
const RECHECK_MS = 4_000
/** Minimum time between two checks of the same connections, in milliseconds. It bounds the cost of forged and repeated messages. */
const MIN_GAP_MS = 200

/** Collects items and checks them together: the first ones immediately, later ones every 200 ms at most. Checks never overlap. */
export class PendingChecks<Item> {
  readonly #check: (items: Item[]) => Promise<void>
  readonly #pending = new Set<Item>()
  #timer: NodeJS.Timeout | undefined
  #isWaiting = false
  #isClosed = false

  /** `check` must not reject. */
  constructor(check: (items: Item[]) => Promise<void>) {
    this.#check = check
  }

  add(items: Iterable<Item>): void {
    if (this.#isClosed) return
    for (const item of items) this.#pending.add(item)
    if (this.#isWaiting || this.#pending.size === 0) return
    this.#isWaiting = true
    void this.#run()
  }

  async #run(): Promise<void> {
    const items = [...this.#pending]
    this.#pending.clear()
    await this.#check(items)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#isWaiting = false
      this.add([])
    }, MIN_GAP_MS)
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    this.#pending.clear()
    clearTimeout(this.#timer)
  }
}

type Watcher = { isAllowed: () => Promise<boolean>; end: () => void }
type Watch = { watchers: Set<Watcher>; check: () => void; stop: () => void }

/**
 * Distributes reports of ended rights (revoked certificates, tokens, sessions, memberships) inside this node and to the other nodes. The
 * code that holds a connection checks its right after a report. It also polls, because messages between nodes may be lost.
 */
export class EndedRights {
  readonly #bus: Pick<Bus, 'publish'>
  readonly #listeners = new Set<(right: EndedRight) => void>()
  readonly #ofPerson = new Map<string, Set<() => void>>()
  /** Watched permissions by their key. */
  readonly #watches = new Map<unknown, Watch>()
  #reportCount = 0

  constructor(bus: Pick<Bus, 'publish' | 'subscribe'>) {
    this.#bus = bus
    bus.subscribe('rights', right => this.#notify(right))
  }

  /** Number of reports so far, for `watchPerson`. */
  get reportCount(): number {
    return this.#reportCount
  }

  /** Reports an ended right to this node and to the other nodes. Must be called after the commit of the change. */
  announce(right: EndedRight): void {
    this.#notify(right)
    this.#bus.publish('rights', right)
  }

  /** Calls `listener` when a right may have ended. The listener reads the database before it acts. */
  onEnded(listener: (right: EndedRight) => void): void {
    this.#listeners.add(listener)
  }

  /** Calls `listener` when a right of this person may have ended. Returns a function that unsubscribes. */
  onEndedOf(userId: string, listener: () => void): () => void {
    const listeners = this.#ofPerson.get(userId) ?? new Set()
    this.#ofPerson.set(userId, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#ofPerson.get(userId) === listeners) this.#ofPerson.delete(userId)
    }
  }

  /**
   * Checks a permission of a person every 4 s and whenever one of the person's rights may have ended. Calls `end` when the permission was
   * revoked. Watchers with the same `key` check the same permission, so one look-up serves all of them. `since` is the `reportCount`
   * before the permission was looked up: after a later report it is checked at once. The returned function stops the checks.
   */
  watchPerson(
    userId: string,
    isAllowed: () => Promise<boolean>,
    end: () => void,
    { key = end, since = this.#reportCount }: { key?: unknown; since?: number } = {},
  ): () => void {
    const watch = this.#watches.get(key) ?? this.#watch(userId)
    this.#watches.set(key, watch)
    const watcher = { isAllowed, end }
    watch.watchers.add(watcher)
    if (since !== this.#reportCount) watch.check()
    return () => {
      if (!watch.watchers.delete(watcher) || watch.watchers.size > 0) return
      watch.stop()
      this.#watches.delete(key)
    }
  }

  #watch(userId: string): Watch {
    const watchers = new Set<Watcher>()
    const checks = new PendingChecks<true>(async () => {
      // Watchers that come during the check have found the permission by themselves.
      const checked = [...watchers]
      // A check that fails, for example during a failover of the database, does not end the connection.
      if (await checked[0]!.isAllowed().catch(() => true)) return
      for (const watcher of checked) if (watchers.has(watcher)) watcher.end()
    })
    const check = (): void => checks.add([true])
    const timer = setInterval(check, RECHECK_MS)
    const unsubscribe = this.onEndedOf(userId, check)
    return {
      watchers,
      check,
      stop() {
        clearInterval(timer)
        unsubscribe()
        checks[Symbol.dispose]()
      },
    }
  }

  #notify(right: EndedRight): void {
    this.#reportCount++
    for (const listener of this.#listeners) listener(right)
    if ('userId' in right) for (const listener of this.#ofPerson.get(right.userId) ?? []) listener()
  }
}
