import { formatBytes, formatCount } from '../../lib/format.ts'
import { Cell } from '../../ui/Table.tsx'

/** Head of the column with sizes (spec 2). */
export const SIZE_HEAD = 'Size in bytes'

/** A size in bytes, grouped; in greater units on hover (spec 9). */
export function SizeCell({ bytes }: { bytes: number }) {
  return (
    <Cell label={SIZE_HEAD}>
      <span className="num" data-tip={formatBytes(bytes)}>
        {formatCount(bytes)}
      </span>
    </Cell>
  )
}
