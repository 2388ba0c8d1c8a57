import { formatBytes, formatCount } from '../../lib/app/format.ts'
import { Cell } from '../../ui/lazy/Table.tsx'

/** Head of the size column (docs/specification.md 2). */
export const SIZE_HEAD = 'Size in bytes'

/** A size in bytes with grouped thousands. The tooltip shows it in larger units (docs/specification.md 9). */
export function SizeCell({ bytes }: { bytes: number }) {
  return (
    <Cell>
      <span className="tabular" data-tip={formatBytes(bytes)}>
        {formatCount(bytes)}
      </span>
    </Cell>
  )
}
