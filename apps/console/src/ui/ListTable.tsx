import { type ComponentProps, type ReactNode, useContext } from 'react'
import { ListFailed } from './ListPage.tsx'
import { NoMatch } from './NoMatch.tsx'
import { SkeletonRows } from './Skeleton.tsx'
import { Cell, Row, Table } from './Table.tsx'

type ListTableProps = Omit<ComponentProps<typeof Table>, 'busy' | 'rowsOnPhones' | 'bare' | 'children'> & {
  /** Plural of the things, in lower case, for example "users". */
  what: string
  columns: number
  /** Nothing while they load. */
  rows: readonly ReactNode[] | undefined
  /** Bars that stand for rows while they load. */
  bars?: number
  /** Takes the filter away. */
  onClear: () => void
}

/** The table of a list with a filter: bars while it loads, and where nothing matches a sentence and the way back. */
export function ListTable({ what, columns, rows, bars, onClear, ...table }: ListTableProps) {
  const isFailed = useContext(ListFailed)
  return (
    <Table {...table} busy={!rows && !isFailed} rowsOnPhones>
      {rows ?? (!isFailed && <SkeletonRows columns={columns} {...(bars && { rows: bars })} />)}
      {!rows && isFailed && (
        <Row>
          <Cell span={columns}>
            <span className="muted">Not loaded.</span>
          </Cell>
        </Row>
      )}
      {rows?.length === 0 && (
        <Row>
          <Cell span={columns}>
            <NoMatch what={what} onClear={onClear} />
          </Cell>
        </Row>
      )}
    </Table>
  )
}
