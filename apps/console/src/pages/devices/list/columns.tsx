import { CircleAlert, Download, ShieldAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { formatCount } from '../../../lib/app/format.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { DeviceStatus } from '../DeviceStatus.tsx'
import { type ColumnId, propertyOf } from './column-ids.ts'
import { LastSeen } from './LastSeen.tsx'
import { type UpdateWords, updateWords } from './update-words.ts'
import type { DeviceRow } from './use-device-list.ts'

type Column = {
  label: string
  /** Class of the column's cells. In the default view it gives the column its minimum width. */
  className: string
  /** Width in pixels in a view with chosen columns, unless the person has changed this width. */
  widthPx: number
  /** Sort field of `projects_QueryDevices`; absent if the hub cannot sort by the column. */
  sort?: string
  /** Text of a cell whose words differ in length. The longest one of the loaded rows gives the column its width in the default view. */
  words?: (device: DeviceRow) => string | undefined
  cell: (device: DeviceRow) => ReactNode
}

/** Columns of the device list that do not show a property. The first columns have the names and the order of docs/specification.md 2. */
const COLUMNS: Readonly<Record<ColumnId, Column>> = {
  name: { label: 'Name', className: 'c-name', widthPx: 200, sort: 'name', cell: () => null },
  deviceId: {
    label: 'Id',
    className: 'c-id',
    widthPx: 118,
    sort: 'deviceId',
    cell: ({ deviceId }) => <Id id={deviceId} what="device id" cutMiddle />,
  },
  firstSeen: {
    label: 'First Seen',
    className: 'c-seen',
    widthPx: 122,
    sort: 'firstSeen',
    cell: ({ firstSeen }) => <Time at={firstSeen} />,
  },
  status: {
    label: 'Status',
    className: 'c-stat',
    widthPx: 190,
    sort: 'status',
    words: ({ isConnected, status = '', hasSharedIdentity }) =>
      `${isConnected && status !== 'connected' ? 'Connected · ' : ''}${status}${hasSharedIdentity ? ' · Shared identity' : ''}`,
    cell: device => <DeviceStatus {...device} />,
  },
  pendingCertificatesCount: {
    label: 'Pending Certificates',
    className: 'c-pend',
    widthPx: 94,
    sort: 'pendingCertificatesCount',
    cell: ({ pendingCertificatesCount: count }) => <PendingCount count={count} />,
  },
  lastSeen: {
    label: 'Last seen or connected for',
    className: 'c-last',
    widthPx: 122,
    sort: 'lastSeenAt',
    cell: device => <LastSeen {...device} />,
  },
  version: {
    label: 'Version',
    className: 'c-ver',
    widthPx: 70,
    words: ({ currentVersion }) => currentVersion,
    cell: ({ currentVersion }) => <Version version={currentVersion} />,
  },
  update: {
    label: 'Update',
    className: 'c-upd',
    widthPx: 132,
    words: device => updateWords(device).text,
    cell: device => <Update {...updateWords(device)} error={device.updateError} />,
  },
}

/** Label, classes, width and cell of a column of the device list, by its id. */
export function columnOf(id: string): Column {
  const path = propertyOf(id)
  if (path === undefined) return COLUMNS[id as ColumnId]
  return {
    label: path,
    className: 'c-prop',
    widthPx: 160,
    sort: id,
    cell: ({ properties }) => <PropertyText text={properties?.[path]} />,
  }
}

function PendingCount({ count }: { count: number }) {
  if (count === 0) return <span className="t2 num">0</span>
  return (
    <Badge tone="warn" icon={ShieldAlert}>
      {formatCount(count)}
      <span className="word"> pending</span>
    </Badge>
  )
}

function Version({ version }: { version: string | undefined }) {
  if (version === undefined) return <span className="muted">–</span>
  return (
    <span className="mono trunc" title={version}>
      {version}
    </span>
  )
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

function PropertyText({ text }: { text: string | undefined }) {
  if (text === undefined) return <span className="sr">not set</span>
  return (
    // `bdi` isolates the value, which may be written from right to left, from the text around it.
    <bdi className="trunc" title={text}>
      {text}
    </bdi>
  )
}
