import { useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { actionPagesQuery } from '../../../api/queries.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { Mark } from '../../../ui/app/Mark.tsx'
import { Cell, type Column, Row, Table } from '../../../ui/lazy/Table.tsx'
import { DeviceName } from '../../devices/shared/DeviceName.tsx'
import bar from '../shared/bar.module.css'
import { Changes, changesHead } from './Changes.tsx'
import styles from './PreviewView.module.css'
import { leftOutWords, problemWords, tallyOf } from './preview-words.ts'
import type { ChangePreview } from './use-preview.ts'

/** Devices that one press on "Show 20 more" adds. */
const MORE = 20
/** Devices in one request. */
const PAGE_SIZE = 200

type PreviewViewProps = {
  projectId: string
  preview: ChangePreview
  /** Words for devices that have the values already. */
  alreadyWords: string
  /** Sentences below the numbers. */
  children?: ReactNode
}

/** What a change would do: three numbers, the first devices with their values before and after, and what is left out, with the reason. */
export function PreviewView({ projectId, preview, alreadyWords, children }: PreviewViewProps) {
  const { changing, already, leftOut, others } = tallyOf(preview)
  const { leftOutCount, problems = [], rowCount, sharedNameCount } = preview
  const badRows = problems.reduce((sum, one) => sum + one.rowCount, 0)
  return (
    <div className={styles.preview}>
      <dl className={styles.tally}>
        <Tally name="Will change" count={changing} />
        <Tally name={alreadyWords} count={already} />
        {rowCount === undefined ? (
          <Tally name="Left out" count={leftOut} />
        ) : (
          <Tally name="Rows left out" count={leftOut + badRows} of={rowCount} />
        )}
      </dl>
      {changing > 0 && <Sample projectId={projectId} preview={preview} />}
      {leftOut + badRows > 0 && (
        <>
          <h3 className={styles.head}>Left out</h3>
          <ul className={styles.reasons} aria-label="Left out">
            {others.map(({ reason, deviceCount, first }) => (
              <Reason
                key={reason}
                count={deviceCount}
                {...leftOutWords(reason)}
                examples={first.map(device => device.name ?? device.hostname ?? device.deviceId)}
              />
            ))}
            {leftOutCount > 0 && (
              <Reason count={leftOutCount} {...leftOutWords('DeviceDeleted')} examples={[]} />
            )}
            {problems.map(({ problem, rowCount: count, first }) => (
              <Reason
                key={problem}
                count={count}
                {...problemWords(problem)}
                examples={first.map(({ row, key, message }) => `row ${row}: ${message ?? key}`)}
              />
            ))}
          </ul>
        </>
      )}
      {sharedNameCount > 0 && (
        <p className="secondary">
          {counted(sharedNameCount, 'device')} get a name that others of them get too. Add {'{index}'} to tell
          them apart.
        </p>
      )}
      <p className="help">
        The list is fixed now. Devices that come later are not included, and each one is checked again at its
        turn. {children}
      </p>
    </div>
  )
}

function Tally({ name, count, of }: { name: string; count: number; of?: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {formatCount(count)}
        {of !== undefined && <small> of {formatCount(of)}</small>}
      </dd>
    </div>
  )
}

type ReasonProps = { count: number; why: string; way: string; examples: readonly string[] }

function Reason({ count, why, way, examples }: ReasonProps) {
  return (
    <li>
      <b className="tabular">{formatCount(count)}</b>
      <span>
        {why}
        <small className={styles.way}>{way}</small>
        {examples.length > 0 && <small className={`mono ${styles.way}`}>{examples.join(' · ')}</small>}
      </span>
    </li>
  )
}

type SampleProps = { projectId: string; preview: ChangePreview }

/** The first devices that change, and further ones on demand. */
function Sample({ projectId, preview }: SampleProps) {
  const { bulkActionId, changeCount, first } = preview
  const [count, setCount] = useState(0)
  const list = useInfiniteQuery({
    ...actionPagesQuery('devices_QueryBulkActionItems', {
      projectId,
      bulkActionId,
      outcome: 'Open',
      limit: PAGE_SIZE,
    }),
    enabled: count > 0,
  })
  const items = list.data?.pages.flatMap(page => page.items)
  const rows = count > 0 && items ? items.slice(0, count) : first
  const { name, isOnly } = changesHead(rows)
  const columns: readonly Column[] = [
    { name: 'Name', kind: 'title' },
    { name: 'Status', widthPx: 150 },
    { name, className: styles.changes, widthPx: 250 },
  ]
  return (
    <>
      <h3 className={styles.head}>
        {changeCount > rows.length
          ? `The first of ${formatCount(changeCount)}`
          : counted(changeCount, 'device')}
        <span> in the order of the {preview.rowCount === undefined ? 'list' : 'file'}</span>
      </h3>
      <div className={styles.framed}>
        <Table
          caption="Devices that change"
          columns={columns}
          className={styles.sample ?? ''}
          dense
          bare
          onPhones="cards"
          rows={rows.map(device => (
            <Row key={device.deviceId}>
              <Cell>
                <DeviceName {...device} />
              </Cell>
              <Cell>
                <Mark state={device.isConnected ? 'on' : 'off'}>
                  {device.isConnected ? 'Connected' : 'Disconnected'}
                </Mark>
              </Cell>
              <Cell>
                <Changes changes={device.changes ?? []} isOnly={isOnly} />
              </Cell>
            </Row>
          ))}
        />
        {changeCount > rows.length && rows.length >= count && (
          <button
            type="button"
            className={`${bar.link} ${styles.more}`}
            onClick={() => {
              setCount(rows.length + MORE)
              if (items && items.length < rows.length + MORE && list.hasNextPage) void list.fetchNextPage()
            }}
          >
            Show {formatCount(Math.min(MORE, changeCount - rows.length))} more
          </button>
        )}
      </div>
    </>
  )
}
