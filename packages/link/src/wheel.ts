import type { Clock } from './clock.ts'

/** Length of one tick of the timer wheel in milliseconds. Deadlines of this package are accurate to one tick. */
export const TICK_MS = 100

const SLOTS = 512
// After the process was blocked or suspended, the wheel makes up for at most this much missed time, in milliseconds, and drops the rest.
// Bytes that arrived in that time are read only afterwards, so the whole of it must not count as silence of the peer.
const MAX_CATCH_UP_MS = 1000

/** An object with one deadline. The `wheel…` fields belong to the wheel, so that scheduling allocates nothing. */
export interface WheelEntry {
  /** Number of the tick (`Wheel.tick`) at the deadline; 0 while no deadline is scheduled. */
  wheelTick: number
  wheelNext: WheelEntry | undefined
  wheelPrevious: WheelEntry | undefined
  /** Called once at the deadline; must not throw. */
  onDeadline(): void
}

/** Timer wheel for the deadlines of all links that share a clock. */
export class Wheel {
  /** Number of the current tick. A tick is 100 ms. Ticks are counted only while a deadline is scheduled. */
  tick = 1
  /**
   * Number of times that the wheel's timer fired. Between two firings the event loop reads the sockets. A change of `tick` does not show
   * this: after a blocked event loop, one firing counts several ticks of 100 ms.
   */
  rounds = 1
  readonly #clock: Clock
  readonly #slots = new Array<WheelEntry | undefined>(SLOTS).fill(undefined)
  #count = 0
  #cursor: WheelEntry | undefined
  #nextTickAt = 0
  #stop: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Number of scheduled entries. */
  get size(): number {
    return this.#count
  }

  /**
   * Sets the entry's deadline, replacing an earlier one. The delay counts from the clock's time, because the current tick lags
   * behind the clock after a blocked event loop. A deadline therefore never fires early.
   */
  schedule(entry: WheelEntry, delayMs: number): void {
    const lastTickAt = this.#nextTickAt - TICK_MS
    const lateMs = this.#stop === undefined ? 0 : Math.max(0, this.#clock.now() - lastTickAt)
    this.scheduleTicks(entry, Math.ceil((Math.min(lateMs, MAX_CATCH_UP_MS + TICK_MS) + delayMs) / TICK_MS))
  }

  /** Sets the entry's deadline to `ticks` ticks of 100 ms after the current tick, at least one. */
  scheduleTicks(entry: WheelEntry, ticks: number): void {
    this.cancel(entry)
    entry.wheelTick = this.tick + Math.max(1, ticks)
    const slot = entry.wheelTick % SLOTS
    const head = this.#slots[slot]
    entry.wheelNext = head
    if (head !== undefined) head.wheelPrevious = entry
    this.#slots[slot] = entry
    this.#count++
    if (this.#stop === undefined) {
      this.#nextTickAt = this.#clock.now() + TICK_MS
      this.#stop = this.#clock.every(TICK_MS, () => this.#advance())
    }
  }

  /** Removes the entry's deadline, if it has one. */
  cancel(entry: WheelEntry): void {
    if (entry.wheelTick === 0) return
    const next = entry.wheelNext
    const previous = entry.wheelPrevious
    if (this.#cursor === entry) this.#cursor = next
    if (next !== undefined) next.wheelPrevious = previous
    if (previous !== undefined) previous.wheelNext = next
    else this.#slots[entry.wheelTick % SLOTS] = next
    entry.wheelTick = 0
    entry.wheelNext = undefined
    entry.wheelPrevious = undefined
    this.#count--
  }

  #advance(): void {
    this.rounds++
    const now = this.#clock.now()
    this.#nextTickAt = Math.max(this.#nextTickAt, now - MAX_CATCH_UP_MS)
    while (now >= this.#nextTickAt) {
      this.#nextTickAt += TICK_MS
      this.tick++
      this.#fire()
    }
    if (this.#count === 0) {
      this.#stop?.()
      this.#stop = undefined
    }
  }

  #fire(): void {
    this.#cursor = this.#slots[this.tick % SLOTS]
    while (this.#cursor !== undefined) {
      const entry: WheelEntry = this.#cursor
      this.#cursor = entry.wheelNext
      // The slot also holds entries of later rotations of the wheel.
      if (entry.wheelTick !== this.tick) continue
      this.cancel(entry)
      entry.onDeadline()
    }
  }
}

const wheels = new WeakMap<Clock, Wheel>()

/** Returns the wheel shared by all users of a clock. */
export function wheelOf(clock: Clock): Wheel {
  let wheel = wheels.get(clock)
  if (wheel === undefined) {
    wheel = new Wheel(clock)
    wheels.set(clock, wheel)
  }
  return wheel
}
