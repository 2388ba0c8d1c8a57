import { type ComponentProps, type ReactNode, useContext } from 'react'
import { ListFailed } from '../app/ListPage.tsx'
import { NoMatch } from '../app/NoMatch.tsx'
import { Cell, Row, Table } from '../app/Table.tsx'
import { SkeletonRows } from '../Skeleton.tsx'

type ListTableProps = Omit<ComponentProps<typeof Table>, 'busy' | 'rowsOnPhones' | 'bare' | 'children'> & {
  /** Plural noun for the listed entities, in lower case, for example "users". */
  what: string
  /** Sentence for a filter that nothing matches, more exact than the default. */
  none?: string | undefined
  columns: number
  /** `undefined` while the list loads. */
  rows: readonly ReactNode[] | undefined
  /** Number of skeleton rows while the list loads. */
  bars?: number
  /** Removes the filter. */
  onClear: () => void
}

/** The table of a filtered list, with skeleton rows while it loads and a button that clears the filter when nothing matches. */
export function ListTable({ what, none, columns, rows, bars, onClear, ...table }: ListTableProps) {
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
            <NoMatch what={what} none={none} onClear={onClear} />
          </Cell>
        </Row>
      )}
    </Table>
  )
}
