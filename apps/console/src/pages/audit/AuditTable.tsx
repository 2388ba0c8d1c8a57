import type { Actor } from '@muster/actions/client'
import { Fragment, type ReactNode, useState } from 'react'
import { dayOf } from '../../lib/relative-time.ts'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { FoldButton } from '../../ui/FoldButton.tsx'
import { Id } from '../../ui/Id.tsx'
import { JsonValue } from '../../ui/JsonValue.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { MachineName } from '../../ui/MachineName.tsx'
import { Cell, Row } from '../../ui/Table.tsx'
import { Time } from '../../ui/Time.tsx'
import { ActorChip } from './ActorChip.tsx'

/** One row of a log, whichever log it is. */
export type AuditRow = {
  id: string
  createdAt: string
  type: string
  actor: Actor
  actorName?: string | undefined
  data: Record<string, unknown>
  /** The last cell. */
  end: ReactNode
}

type AuditTableProps = {
  caption: string
  /** Nothing while they load. */
  rows: readonly AuditRow[] | undefined
  /** Head of the last column. */
  endHead: string
  /** The actions log has no column for the time; it stands in the opened row (spec 2). */
  hasTimestamp?: boolean
  dense?: boolean
  /** Takes the filter away. */
  onClear: () => void
}

/** Characters of the data that a cell can show; the rest is not put into the page. */
const DATA_PREVIEW_CHARS = 300

/** A log in order of time, with a heading for each day; each row opens to its whole data. */
export function AuditTable({
  caption,
  rows,
  endHead,
  hasTimestamp = false,
  dense = false,
  onClear,
}: AuditTableProps) {
  const columns = hasTimestamp ? 6 : 5
  return (
    <ListTable
      caption={caption}
      what="entries"
      columns={columns}
      dense={dense}
      widths={[224, ...(hasTimestamp ? [120] : []), 250, 168, undefined, 190]}
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
      rows={rows?.map((row, index) => (
        <Fragment key={row.id}>
          <DayHeading row={row} before={rows[index - 1]} columns={columns} />
          <LogRow row={row} columns={columns} hasTimestamp={hasTimestamp} endHead={endHead} />
        </Fragment>
      ))}
      onClear={onClear}
    />
  )
}

/** The day of a row, where the row before it is of another. */
function DayHeading({
  row,
  before,
  columns,
}: {
  row: AuditRow
  before: AuditRow | undefined
  columns: number
}) {
  const day = dayOf(Date.parse(row.createdAt))
  if (before && dayOf(Date.parse(before.createdAt)) === day) return null
  return (
    <Row>
      <Cell span={columns}>
        <h2 className="day">{day}</h2>
      </Cell>
    </Row>
  )
}

type LogRowProps = { row: AuditRow; columns: number; hasTimestamp: boolean; endHead: string }

function LogRow({ row, columns, hasTimestamp, endHead }: LogRowProps) {
  const { id, createdAt, type, actor, actorName, end } = row
  const [isOpen, setOpen] = useState(false)
  const data = shownData(row.data)
  return (
    <>
      <Row>
        <Cell>
          <span className="row" style={{ gap: 4 }}>
            <FoldButton label={`Details of ${id}`} isOpen={isOpen} onChange={setOpen} />
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
          <ActorChip actor={actor} name={actorName} />
        </Cell>
        <Cell label="Data">
          <code className="mono trunc cut">{JSON.stringify(data).slice(0, DATA_PREVIEW_CHARS)}</code>
        </Cell>
        <Cell label={endHead}>{end}</Cell>
      </Row>
      {isOpen && (
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
      )}
    </>
  )
}

/** The data as every log shows it: the project's own id is left out (spec 3). */
function shownData(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).filter(([key]) => key !== 'projectId'))
}
