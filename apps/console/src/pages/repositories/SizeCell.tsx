import { formatBytes, formatCount } from '../../lib/app/format.ts'
import { Cell, type Column } from '../../ui/lazy/Table.tsx'
import styles from './SizeCell.module.css'

/** The column of sizes (docs/specification.md 2), whose digits stand below each other. */
export const SIZE: Column = { name: 'Size in bytes', className: styles.size }

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
