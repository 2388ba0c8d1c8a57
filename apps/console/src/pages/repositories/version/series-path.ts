/** A count of a series with its place. */
type Point = { index: number; count: number }

/** Splits a series at hours without a count, so that the line has gaps there. */
export function unbroken(counts: readonly (number | null)[]): Point[][] {
  const parts: Point[][] = [[]]
  counts.forEach((count, index) => {
    if (count === null) parts.push([])
    else parts.at(-1)!.push({ index, count })
  })
  return parts.filter(part => part.length > 0)
}

/** SVG path through the points of a part. A single point becomes a short line, because a line of length zero is invisible. */
export function linePath(
  part: readonly Point[],
  x: (index: number) => number,
  y: (count: number) => number,
): string {
  const points = part.map(({ index, count }) => `${round(x(index))} ${round(y(count))}`)
  return `M${points.join('L')}${part.length === 1 ? 'h2' : ''}`
}

/** Rounded counts from zero to a value of at least `highest`, for up to four lines across a chart. */
export function gridLines(highest: number): number[] {
  const most = Math.max(1, highest)
  const magnitude = 10 ** Math.floor(Math.log10(most))
  const step = Math.max(
    1,
    [0.25, 0.5, 1, 2.5].map(part => Math.ceil(part * magnitude)).find(size => most / size <= 4) ?? most,
  )
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step)
}

const round = (number: number) => Math.round(number * 10) / 10
