import { Link } from '@tanstack/react-router'
import { CircleAlert, Download, ShieldAlert } from 'lucide-react'
import { Fragment, memo, type ReactNode, type Ref, useEffect, useRef, useState } from 'react'
import { formatCount } from '../../../lib/app/format.ts'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { ActionsHead, SortHead } from '../../../ui/app/Table.tsx'
import { Time, TimesTogether } from '../../../ui/app/Time.tsx'
import { Gap, useVirtualRows } from '../../../ui/app/virtual-rows.tsx'
import { LinkButton } from '../../../ui/LinkButton.tsx'
import { DeviceStatus } from '../DeviceStatus.tsx'
import { DeletingCells, NotDeleted } from '../deleting/DeletingRow.tsx'
import { useDeletion } from '../deleting/deletions.ts'
import { LastSeen } from './LastSeen.tsx'
import { type UpdateWords, updateWords } from './update-words.ts'
import type { DeviceRow } from './use-device-list.ts'

/** Number of columns of the table, the `colSpan` of cells that replace the rows. */
export const COLUMNS = 9
const ROW_HEIGHT = 44
/** Height in pixels of a device on a phone, as in the CSS rule `.devices tr`. */
const CARD_HEIGHT = 64

const DEVICES = '/org_{$organization}/projects/$projectId/devices'

// The roles are explicit, because on phones CSS changes `display`, and browsers then drop the implicit table roles.
const TABLE = { role: 'table' }
const GROUP = { role: 'rowgroup' }
const ROW = { role: 'row' }
const CELL = { role: 'cell' }

type DeviceTableProps = {
  devices: readonly DeviceRow[]
  total: number | undefined
  /** Whether the list starts at the first device. If not, the position of its rows is unknown. */
  isFromFirst: boolean
  sort: string
  onSort: (sort: string) => void
  onView: (firstRow: number, lastRow: number) => void
  isBusy: boolean
  /** Replaces the rows: skeleton rows while the devices load, or a text when no device matches. */
  children?: ReactNode
}

/** The device list as a table. Above 200 rows only the rows near the viewport are rendered. */
export function DeviceTable({
  devices,
  total,
  isFromFirst,
  sort,
  onSort,
  onView,
  isBusy,
  children,
}: DeviceTableProps) {
  const table = useRef<HTMLTableElement>(null)
  const isNarrow = useIsNarrow()

  const virtual = useVirtualRows({
    table,
    count: devices.length,
    rowHeight: isNarrow ? CARD_HEIGHT : ROW_HEIGHT,
    keyOf: index => devices[index]!.deviceId,
  })
  const { startIndex, endIndex } = virtual.range
  useEffect(() => {
    if (devices.length > 0) onView(startIndex, Math.min(endIndex, devices.length - 1))
  }, [devices, startIndex, endIndex, onView])

  const head = { sort, onSort }
  return (
    <table
      {...TABLE}
      ref={table}
      className="tbl stackable devices"
      aria-busy={isBusy}
      aria-rowcount={isFromFirst && total !== undefined ? total + 1 : -1}
      onFocus={virtual.onFocus}
      onBlur={virtual.onBlur}
    >
      <caption className="sr">Devices</caption>
      <colgroup>
        <col />
        <col className="w-id" />
        <col className="w-seen" />
        <col className="w-stat" />
        <col className="w-pend" />
        <col className="w-last" />
        <col className="w-ver" />
        <col className="w-upd" />
        <col className="w-view" />
      </colgroup>
      <thead {...GROUP}>
        <tr {...ROW} aria-rowindex={isFromFirst ? 1 : undefined}>
          <SortHead {...head} field="name">
            Name
          </SortHead>
          <SortHead {...head} field="deviceId">
            Id
          </SortHead>
          <SortHead {...head} field="firstSeen">
            First Seen
          </SortHead>
          <SortHead {...head} field="status">
            Status
          </SortHead>
          <SortHead {...head} field="pendingCertificatesCount">
            Pending Certificates
          </SortHead>
          <th scope="col" className="c-last">
            Last seen or connected for
          </th>
          <th scope="col" className="c-ver">
            Version
          </th>
          <th scope="col" className="c-upd">
            Update
          </th>
          <ActionsHead />
        </tr>
      </thead>
      <tbody {...GROUP}>
        <TimesTogether>
          {children ??
            virtual.items.map(({ index, gap }) => (
              <Fragment key={devices[index]!.deviceId}>
                <Gap height={gap} columns={COLUMNS} />
                <Row
                  ref={virtual.measure}
                  device={devices[index]!}
                  index={index}
                  rowIndex={isFromFirst ? index + 2 : undefined}
                />
              </Fragment>
            ))}
          {!children && <Gap height={virtual.gapAtEnd} columns={COLUMNS} />}
        </TimesTogether>
      </tbody>
    </table>
  )
}

type RowProps = {
  device: DeviceRow
  index: number
  rowIndex: number | undefined
  ref: Ref<HTMLTableRowElement> | undefined
}

const Row = memo(function Row({ device, index, rowIndex, ref }: RowProps) {
  const { deviceId, name, hostname, firstSeen, isConnected, status, pendingCertificatesCount } = device
  const { currentVersion, updateError } = device
  const update = updateWords(device)
  const link = { from: DEVICES, to: './$deviceId', params: { deviceId } } as const
  // `changes` is the key of the status cell. A new key restarts the cell's animation.
  const [last, setLast] = useState({ status, changes: 0 })
  if (last.status !== status) setLast({ status, changes: last.changes + 1 })
  const deletion = useDeletion(deviceId)
  if (deletion && deletion.state !== 'refused') {
    return (
      <tr {...ROW} ref={ref} data-index={index} aria-rowindex={rowIndex} className="del">
        <DeletingCells deletion={deletion} columns={COLUMNS} />
      </tr>
    )
  }
  return (
    <tr
      {...ROW}
      ref={ref}
      data-index={index}
      data-worth={worthOf(pendingCertificatesCount, update)}
      aria-rowindex={rowIndex}
    >
      <td {...CELL} className="c-name">
        <div className="row grow" title={name ?? hostname}>
          <Link {...link} className="nm trunc" style={name === undefined ? { flexShrink: 0 } : undefined}>
            {name ?? <span className="un">unnamed</span>}
          </Link>
          {name === undefined && hostname !== undefined && <span className="host trunc">{hostname}</span>}
        </div>
        {deletion && <NotDeleted deletion={deletion} />}
      </td>
      <td {...CELL} className="c-id">
        <Id id={deviceId} what="device id" cutMiddle />
      </td>
      <td {...CELL} className="c-seen">
        <Time at={firstSeen} />
      </td>
      <td {...CELL} key={last.changes} className={last.changes > 0 ? 'c-stat just-changed' : 'c-stat'}>
        <DeviceStatus isConnected={isConnected} status={status} />
      </td>
      <td {...CELL} className="c-pend">
        {pendingCertificatesCount > 0 ? (
          <Badge tone="warn" icon={ShieldAlert}>
            {formatCount(pendingCertificatesCount)}
            <span className="word"> pending</span>
          </Badge>
        ) : (
          <span className="t2 num">0</span>
        )}
      </td>
      <td {...CELL} className="c-last">
        <LastSeen {...device} />
      </td>
      <td {...CELL} className="c-ver">
        {currentVersion === undefined ? (
          <span className="muted">–</span>
        ) : (
          <span className="mono trunc" title={currentVersion}>
            {currentVersion}
          </span>
        )}
      </td>
      <td {...CELL} className="c-upd">
        <Update {...update} error={updateError} />
      </td>
      <td {...CELL} className="r">
        <LinkButton {...link} variant="ghost" size="sm">
          View<span className="sr"> {name ?? deviceId}</span>
        </LinkButton>
      </td>
    </tr>
  )
})

/** The one cell beside name, status, id and first seen that a phone shows for a device. */
function worthOf(pendingCount: number, { tone }: UpdateWords): 'pend' | 'upd' | 'last' {
  if (pendingCount > 0) return 'pend'
  return tone === 'plain' ? 'last' : 'upd'
}

const UPDATE_ICONS = { plain: undefined, busy: Download, bad: CircleAlert }

function Update({ text, tone, error }: UpdateWords & { error: string | undefined }) {
  const Icon = UPDATE_ICONS[tone]
  return (
    <span className={`upd ${tone}`} title={tone === 'bad' ? error : undefined}>
      {Icon && <Icon className="i i-14" aria-hidden />}
      <span className="trunc">{text}</span>
    </span>
  )
}
