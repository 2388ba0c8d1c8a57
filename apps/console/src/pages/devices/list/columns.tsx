import { LABELS, LIST_FIELDS, type ListField, type ListFieldName, memberOf } from '@muster/predicates'
import { CircleAlert, Download, ShieldAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useNow } from '../../../lib/app/clock.ts'
import { formatCount } from '../../../lib/app/format.ts'
import { useKnownNow } from '../../../lib/app/known-now.ts'
import { durationInWords } from '../../../lib/app/relative-time.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { DeviceStatus } from '../DeviceStatus.tsx'
import { propertyOf } from './column-ids.ts'
import columnStyles from './columns.module.css'
import styles from './device-table.module.css'
import { type UpdateWords, updateWords } from './update-words.ts'
import type { DeviceRow } from './use-device-list.ts'

type Look = {
  /** Class of the column's cells. In the default view it gives the column its minimum width. */
  className: string
  /** Width in pixels in a view with chosen columns, unless the person has changed this width. */
  widthPx: number
  /** Text of a cell whose words differ in length. The longest one of the loaded rows gives the column its width in the default view. */
  words?: (device: DeviceRow) => string | undefined
  cell: (device: DeviceRow) => ReactNode
}

type Column = Look & {
  label: string
  /** Sort field of `projects_QueryDevices`; `undefined` if the hub cannot sort by the column. */
  sort: string | undefined
}

/** Looks of the columns that do not show a property. */
const LOOKS: Readonly<Record<ListFieldName, Look>> = {
  name: { className: columnStyles.name, widthPx: 200, cell: () => null },
  deviceId: {
    className: columnStyles.id,
    widthPx: 118,
    cell: ({ deviceId }) => <Id id={deviceId} what="device id" cutMiddle />,
  },
  firstSeen: {
    className: columnStyles.seen,
    widthPx: 122,
    cell: ({ firstSeen }) => <Time at={firstSeen} />,
  },
  status: {
    className: columnStyles.status,
    widthPx: 190,
    words: ({ isConnected, status = '', hasSharedIdentity, certificateEndsAt }) =>
      `${isConnected && status !== 'connected' ? 'Connected · ' : ''}${status}${hasSharedIdentity ? ' · Shared identity' : ''}${certificateEndsAt === undefined ? '' : ' · Certificate ends soon'}`,
    cell: device => <DeviceStatus {...device} />,
  },
  pendingCertificatesCount: {
    className: columnStyles.pending,
    widthPx: 94,
    cell: ({ pendingCertificatesCount: count }) => <PendingCount count={count} />,
  },
  lastSeen: {
    className: columnStyles.last,
    widthPx: 122,
    cell: device => <LastSeen {...device} />,
  },
  version: {
    className: columnStyles.version,
    widthPx: 70,
    words: ({ currentVersion }) => currentVersion,
    cell: ({ currentVersion }) => <Version version={currentVersion} />,
  },
  update: {
    className: columnStyles.update,
    widthPx: 132,
    words: device => updateWords(device).text,
    cell: device => <Update {...updateWords(device)} error={device.updateError} />,
  },
}

/** Label, sort order, classes, width and cell of a column of the device list, by its id. */
export function columnOf(id: string): Column {
  const path = propertyOf(id)
  if (path === undefined) {
    const { heading, words, sort }: ListField = LIST_FIELDS[id as ListFieldName]
    return {
      ...LOOKS[id as ListFieldName],
      label: heading ?? words,
      sort: sort && memberOf(id as ListFieldName),
    }
  }
  return {
    label: path.replace(`${LABELS}.`, 'label.'),
    className: styles.property,
    widthPx: 160,
    sort: id,
    cell: ({ properties }) => <PropertyText text={properties?.[path]} />,
  }
}

function PendingCount({ count }: { count: number }) {
  if (count === 0) return <span className="secondary tabular">0</span>
  return (
    <Badge tone="warn" icon={ShieldAlert}>
      {formatCount(count)}
      <span className={columnStyles.word}> pending</span>
    </Badge>
  )
}

function Version({ version }: { version: string | undefined }) {
  if (version === undefined) return <span className="muted">–</span>
  return (
    <span className="mono truncated" title={version}>
      {version}
    </span>
  )
}

const UPDATE_ICONS = { plain: undefined, busy: Download, bad: CircleAlert }

function Update({ text, tone, error }: UpdateWords & { error: string | undefined }) {
  const Icon = UPDATE_ICONS[tone]
  return (
    <span data-tone={tone} title={tone === 'bad' ? error : undefined}>
      {Icon && <Icon className="icon small-icon" aria-hidden />}
      <span className="truncated">{text}</span>
    </span>
  )
}

function PropertyText({ text }: { text: string | undefined }) {
  if (text === undefined) return <span className="visually-hidden">not set</span>
  return (
    // `bdi` isolates the value, which may be written from right to left, from the text around it.
    <bdi className="truncated" title={text}>
      {text}
    </bdi>
  )
}

type LastSeenProps = Pick<
  DeviceRow,
  'isConnected' | 'lastSeenAt' | 'lastConnectedAt' | 'currentConnectionDurationSecs'
>

/** Duration of a device's connection, "for 2 h 11 min", or the time when the device was last seen. */
function LastSeen({ currentConnectionDurationSecs: secs, ...device }: LastSeenProps) {
  if (device.isConnected)
    return secs === undefined ? <span className="muted">–</span> : <ConnectedFor secs={secs} />
  const at = device.lastSeenAt ?? device.lastConnectedAt
  return at === undefined ? <span className="muted">Never</span> : <Time at={at} />
}

/** The duration in the hub's answer plus the time since the answer, by the browser's clock alone, because the hub's clock may differ. */
function ConnectedFor({ secs }: { secs: number }) {
  const nowMs = useKnownNow(useNow())
  const [answer, setAnswer] = useState({ secs, atMs: nowMs })
  if (answer.secs !== secs) setAnswer({ secs, atMs: nowMs })
  const passedSecs = Math.max(0, nowMs - answer.atMs) / 1000
  return <span className="secondary tabular">for {durationInWords(secs + passedSecs)}</span>
}
