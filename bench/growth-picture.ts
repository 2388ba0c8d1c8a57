/** Memory and processor time of a hub at one number of devices. Processor time is the sum of hub and database. */
export type Growth = {
  /** Memory of the hub. */
  memoryMib: number
  /** Processor time of a device that returns after the hub was killed. */
  returnMs: number
  /** Processor time of an event. */
  eventMicrosecs: number
  /** Processor time of a page of the list of devices. */
  pageMicrosecs: number
  /** Processor time of all devices that are idle, as a share of a core. */
  idlePercent: number
}

const PANELS: Record<keyof Growth, [title: string, unit: string]> = {
  memoryMib: ['Memory of the hub', 'MiB'],
  idlePercent: ['Idle devices', '% of a core'],
  returnMs: ['A device that returns', 'ms of processor time'],
  eventMicrosecs: ['An event', 'µs of processor time'],
  pageMicrosecs: ['A page of 50 devices', 'µs of processor time'],
}

const [WIDTH, HEIGHT, COLUMNS] = [300, 210, 3]
/** Space around the plot of a panel, for its title, values and numbers of devices. */
const MARGIN = { top: 68, right: 28, bottom: 34, left: 28 }
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #57606a; text-anchor: middle }
  .title { font-size: 14px; font-weight: 600; fill: #1f2328; text-anchor: start }
  .unit { text-anchor: start }
  .value { fill: #1f2328 }
  .axis { stroke: #d0d7de }
  .line { fill: none; stroke: #0969da; stroke-width: 2 }
  circle { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 } .title, .value { fill: #f0f6fc }
    .axis { stroke: #3d444d } .line { stroke: #4493f8 } circle { fill: #4493f8 }
  }`

/** Draws figures by the number of devices as an SVG: a curve for each figure, the number of devices on a logarithmic axis. */
export function growthPicture(figures: Record<string, Growth>): string {
  const sizes = Object.keys(figures)
    .map(Number)
    .sort((a, b) => a - b)
  const panels = (Object.keys(PANELS) as (keyof Growth)[]).map((name, at) => {
    const [x, y] = [(at % COLUMNS) * WIDTH, Math.floor(at / COLUMNS) * HEIGHT]
    const values = sizes.map(size => figures[size]![name])
    return `<g transform="translate(${x} ${y})">${panel(PANELS[name], sizes, values)}</g>`
  })
  const height = Math.ceil(panels.length / COLUMNS) * HEIGHT
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${COLUMNS * WIDTH} ${height}" role="img" aria-label="What a hub costs, by its number of devices">
<style>${STYLE}
</style>
${panels.join('\n')}
</svg>
`
}

function panel([title, unit]: [string, string], sizes: number[], values: number[]): string {
  const [first, last] = [Math.log(sizes[0]!), Math.log(sizes.at(-1)!)]
  const bottom = HEIGHT - MARGIN.bottom
  const most = Math.max(...values)
  const points = values.map((value, at) => ({
    x:
      MARGIN.left +
      ((Math.log(sizes[at]!) - first) / (last - first || 1)) * (WIDTH - MARGIN.left - MARGIN.right),
    y: bottom - (value / most) * (bottom - MARGIN.top),
    value: value.toLocaleString('en', { maximumSignificantDigits: value < 10 ? 2 : 3 }),
    size: sizes[at]!.toLocaleString('en'),
  }))
  const marks = points.map(
    ({ x, y, value, size }) =>
      `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3"/><text class="value" x="${x.toFixed(1)}" y="${(y - 8).toFixed(1)}">${value}</text><text x="${x.toFixed(1)}" y="${bottom + 18}">${size}</text>`,
  )
  return `<text class="title" x="${MARGIN.left - 10}" y="20">${title}</text><text class="unit" x="${MARGIN.left - 10}" y="36">${unit}</text>
<line class="axis" x1="${MARGIN.left - 10}" x2="${WIDTH - MARGIN.right + 10}" y1="${bottom}" y2="${bottom}"/>
<polyline class="line" points="${points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')}"/>
${marks.join('')}`
}
