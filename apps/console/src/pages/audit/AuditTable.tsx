import type { Actor } from '@muster/actions/client'
import type { ReactNode } from 'react'
import { dayOf } from '../../lib/app/relative-time.ts'
import { useToggled } from '../../lib/app/use-toggled.ts'
import { FoldButton } from '../../ui/app/FoldButton.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { JsonValue } from '../../ui/app/JsonValue.tsx'
import { ListTable } from '../../ui/app/ListTable.tsx'
import { MachineName } from '../../ui/app/MachineName.tsx'
import { Cell, Row } from '../../ui/app/Table.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { ActorChip } from './ActorChip.tsx'
import { dataPreview, shownData } from './shown-data.ts'

/** A row of an audit log. */
export type AuditRow = {
  id: string
  createdAt: string
  type: string
  actor: Actor
  actorName?: string | undefined
  tokenName?: string | undefined
  data: Record<string, unknown>
  /** Content of the last cell. */
  end: ReactNode
}

type AuditTableProps = {
  caption: string
  /** `undefined` while the rows load. */
  rows: readonly AuditRow[] | undefined
  /** Head of the last column. */
  endHead: string
  /**
   * Whether the table has a time column. The actions log has none; its times are in the unfolded details
   * (docs/product.md 2).
   */
  hasTimestamp?: boolean
  dense?: boolean
  /** Removes the filter. */
  onClear: () => void
}

/** Rows of a log in order of time, with a heading per day. Each row unfolds to show its complete data. */
export function AuditTable({
  caption,
  rows,
  endHead,
  hasTimestamp = false,
  dense = false,
  onClear,
}: AuditTableProps) {
  const columns = hasTimestamp ? 6 : 5
  // The ids of unfolded rows are kept here and not in the rows, because rows outside of the viewport are unmounted.
  const [open, toggle] = useToggled()
  return (
    <ListTable
      caption={caption}
      what="entries"
      columns={columns}
      dense={dense}
      widths={[hasTimestamp ? 224 : 306, ...(hasTimestamp ? [120] : []), 250, 168, undefined, 190]}
      head={
        <tr>
          <th scope="col">ID</th>
          {hasTimestamp && <th scope="col">Timestamp</th>}
          <th scope="col">Type</th>
          <th scope="col">Actor</th>
          <th scope="col">Data</th>
          <th scope="col">{endHead}</th>
        </tr>
      }
      rows={rows?.flatMap((row, index) => {
        const day = dayOf(Date.parse(row.createdAt))
        const before = rows[index - 1]
        const isNewDay = !before || dayOf(Date.parse(before.createdAt)) !== day
        const isOpen = open.has(row.id)
        return [
          isNewDay && <DayHeading key={`day of ${row.id}`} day={day} columns={columns} />,
          <LogRow
            key={row.id}
            row={row}
            hasTimestamp={hasTimestamp}
            endHead={endHead}
            isOpen={isOpen}
            onOpen={() => toggle(row.id)}
          />,
          isOpen && <LogDetail key={`details of ${row.id}`} row={row} columns={columns} />,
        ]
      })}
      onClear={onClear}
    />
  )
}

function DayHeading({ day, columns }: { day: string; columns: number }) {
  return (
    <Row>
      <Cell span={columns}>
        <h2 className="day">{day}</h2>
      </Cell>
    </Row>
  )
}

type LogRowProps = {
  row: AuditRow
  hasTimestamp: boolean
  endHead: string
  isOpen: boolean
  onOpen: () => void
}

function LogRow({ row, hasTimestamp, endHead, isOpen, onOpen }: LogRowProps) {
  const { id, createdAt, type, actor, actorName, tokenName, end } = row
  return (
    <Row>
      <Cell>
        <span className="row" style={{ gap: 4 }}>
          <FoldButton label={`Details of ${id}`} isOpen={isOpen} onChange={onOpen} />
          <Id id={id} what="id" wrap />
        </span>
      </Cell>
      {hasTimestamp && (
        <Cell label="Timestamp">
          <Time at={createdAt} />
        </Cell>
      )}
      <Cell label="Type">
        <MachineName name={type} />
      </Cell>
      <Cell label="Actor">
        <ActorChip actor={actor} name={actorName} tokenName={tokenName} />
      </Cell>
      <Cell label="Data">
        <code className="mono trunc cut">{dataPreview(row.data)}</code>
      </Cell>
      <Cell label={endHead}>{end}</Cell>
    </Row>
  )
}

/** The unfolded details of a row. */
function LogDetail({ row, columns }: { row: AuditRow; columns: number }) {
  const { id, createdAt, actor } = row
  const data = shownData(row.data)
  return (
    <Row detail>
      <Cell span={columns}>
        <dl className="kv">
          <div>
            <dt>Timestamp</dt>
            <dd>
              <Time at={createdAt} />
            </dd>
          </div>
          <div>
            <dt>Actor</dt>
            <dd>
              <JsonValue value={actor} />
            </dd>
          </div>
          <div className="all">
            <dt>
              Data <CopyButton text={JSON.stringify(data, null, 2)} label={`Copy data of ${id}`} />
            </dt>
            <dd>
              <JsonValue value={data} open />
            </dd>
          </div>
        </dl>
      </Cell>
    </Row>
  )
}
