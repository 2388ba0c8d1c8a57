const WIDTHS = ['78%', '62%', '88%', '70%']

type SkeletonProps = {
  /** What is loading, for screen readers, for example "Loading devices". */
  label: string
  rows?: number
}

/** Grey bars of the final row height; they appear after 150 ms. */
export function Skeleton({ label, rows = 3 }: SkeletonProps) {
  return (
    <div className="skels" aria-busy="true">
      <span className="sr">{label}</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars are their places
        <div key={row} className="skel-row">
          <span className="skel" style={{ width: WIDTHS[row % WIDTHS.length] }} />
        </div>
      ))}
    </div>
  )
}

/** Grey bars as rows of a table whose head is real; stands in a `tbody`. */
export function SkeletonRows({ columns, rows = 8 }: { columns: number; rows?: number }) {
  return Array.from({ length: rows }, (_, row) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: bars are their places
    <tr key={row} className="skel-tr">
      {Array.from({ length: columns }, (_, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars are their places
        <td key={column}>
          <span className="skel" style={{ width: WIDTHS[(row + column) % WIDTHS.length] }} />
        </td>
      ))}
    </tr>
  ))
}
