/** Share of a tick's time during which the device was connected (0 to 1); `null` before the oldest record. */
type Tick = number | null

/**
 * Merges pairs of ticks for narrow screens. A tick is the share of an interval in which the device was connected. A pair gets the lower
 * share of its two ticks, so that an interruption stays visible. If only one tick has a share, the pair gets that share.
 */
export function mergeTicks(ticks: readonly Tick[]): Tick[] {
  return Array.from({ length: Math.ceil(ticks.length / 2) }, (_, index) => {
    const [a, b] = [ticks[index * 2] ?? null, ticks[index * 2 + 1] ?? null]
    return a === null || b === null ? (a ?? b) : Math.min(a, b)
  })
}
