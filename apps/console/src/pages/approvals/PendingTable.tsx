import { Link } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { Fragment, type ReactNode, type Ref, useMemo, useRef } from 'react'
import { useActionState } from '../../api/queries.ts'
import { useNow } from '../../lib/app/clock.ts'
import { counted, formatCount } from '../../lib/app/format.ts'
import { dayAndMonth } from '../../lib/app/local-time.ts'
import { lookUp } from '../../lib/app/look-up.ts'
import { absoluteTime, relativeTime } from '../../lib/app/relative-time.ts'
import { useIsNarrow } from '../../lib/app/use-is-narrow.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { ActionsHead } from '../../ui/app/column-heads.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Gap, useVirtualRows } from '../../ui/app/virtual-rows.tsx'
import { isAbsent } from '../../ui/is-absent.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { dayAndTime } from '../bulk/shared/moment.ts'
import { DeviceName } from '../devices/shared/DeviceName.tsx'
import { deviceNameText } from '../devices/shared/device-name.ts'
import { Fingerprint } from './Fingerprint.tsx'
import styles from './PendingTable.module.css'
import { Pick } from './Pick.tsx'
import type { Grouping } from './pending-search.ts'
import { groupTitle, newAddressWords } from './shared/group-words.ts'
import type { PendingCertificate, PendingGroup, PendingList } from './use-pending-list.ts'
import type { SelectedCertificates } from './use-selected-certificates.ts'

const COLUMNS = 5
const ROW_HEIGHT = 60
/** Height in pixels of a certificate on a phone. */
const CARD_HEIGHT = 96

// The roles are explicit, because on phones CSS changes `display`, and browsers then drop the implicit table roles.
const TABLE = { role: 'table' }
const ROWS = { role: 'rowgroup' }
const ROW = { role: 'row' }
const CELL = { role: 'cell' }
const HEADER = { role: 'rowheader' }

type Place = { organization: string; projectId: string }
type Entry =
  | { kind: 'group'; key: string; group: PendingGroup; loaded: PendingCertificate[] }
  | { kind: 'row'; key: string; certificate: PendingCertificate }

type PendingTableProps = {
  list: PendingList
  /** Loaded certificates, including certificates that another user has just accepted or rejected. */
  rows: readonly PendingCertificate[]
  leavingIds: ReadonlySet<string>
  grouping: Grouping
  selection: SelectedCertificates
  place: Place
  isBusy: boolean
  /** Content in place of the rows: skeleton rows, or a text when no certificate matches. */
  children?: ReactNode
}

/** Pending certificates in groups with checkboxes. Above 200 rows only those near the viewport are rendered. */
export function PendingTable({
  list,
  rows,
  leavingIds,
  grouping,
  selection,
  place,
  isBusy,
  children,
}: PendingTableProps) {
  const { certificates, groups, total = certificates.length } = list
  const table = useRef<HTMLTableElement>(null)
  const isNarrow = useIsNarrow()
  const entries = useMemo(() => entriesOf(rows, groups, grouping), [rows, groups, grouping])
  const virtual = useVirtualRows({
    table,
    count: entries.length,
    rowHeight: isNarrow ? CARD_HEIGHT : ROW_HEIGHT,
    keyOf: index => entries[index]!.key,
  })
  const { selected, toggle, toggleMany } = selection
  const allLoaded = certificates.map(({ certificateId }) => certificateId)
  const state = stateOf(allLoaded, selected, total)
  return (
    <table
      {...TABLE}
      ref={table}
      className={`table ${styles.table}`}
      data-on-phones="cards"
      aria-busy={isBusy}
      aria-rowcount={virtual.isVirtual ? -1 : undefined}
      onFocus={virtual.onFocus}
      onBlur={virtual.onBlur}
    >
      <caption className="visually-hidden">Pending certificates</caption>
      <colgroup>
        <col width={42} />
        <col width={264} />
        <col width={190} />
        <col />
        <col width={72} />
      </colgroup>
      <thead {...ROWS}>
        <tr {...ROW}>
          <th scope="col" className={styles.pickCell}>
            <Pick
              label={`Select all ${formatCount(total)}`}
              state={state}
              onToggle={() => void toggleMany(allLoaded, total, state !== 'all')}
            />
          </th>
          <th scope="col">Name and id</th>
          <th scope="col">First Seen</th>
          <th scope="col">Fingerprint of the certificate, SHA-256</th>
          <ActionsHead />
        </tr>
      </thead>
      <tbody {...ROWS}>
        {children ??
          virtual.items.map(({ index, gap }) => {
            const entry = entries[index]!
            const shared = { index, measure: virtual.measure, place }
            return (
              <Fragment key={entry.key}>
                <Gap height={gap} columns={COLUMNS} />
                {entry.kind === 'group' ? (
                  <GroupRow {...shared} entry={entry} grouping={grouping} selection={selection} />
                ) : (
                  <CertificateRow
                    {...shared}
                    certificate={entry.certificate}
                    isLeaving={leavingIds.has(entry.certificate.certificateId)}
                    isSelected={selected.has(entry.certificate.certificateId)}
                    onToggle={isRange => toggle(entry.certificate, isRange)}
                  />
                )}
              </Fragment>
            )
          })}
        {!children && <Gap height={virtual.gapAtEnd} columns={COLUMNS} />}
      </tbody>
    </table>
  )
}

/** The rows with the head of each group above its first row. */
function entriesOf(
  certificates: readonly PendingCertificate[],
  groups: ReadonlyMap<string, PendingGroup>,
  grouping: Grouping,
): Entry[] {
  const loaded = new Map<string, PendingCertificate[]>()
  for (const one of certificates) {
    const own = loaded.get(one.groupKey)
    if (own) own.push(one)
    else loaded.set(one.groupKey, [one])
  }
  return [...loaded].flatMap(([key, own]): Entry[] => {
    const group = groups.get(key)
    const rows = own.map(certificate => ({
      kind: 'row' as const,
      key: certificate.certificateId,
      certificate,
    }))
    if (!group || grouping === 'nothing') return rows
    return [{ kind: 'group', key: `group ${key}`, group, loaded: own }, ...rows]
  })
}

function stateOf(
  ids: readonly string[],
  selected: ReadonlySet<string>,
  count: number,
): 'all' | 'some' | 'none' {
  const chosen = ids.filter(id => selected.has(id)).length
  if (chosen === 0) return 'none'
  return chosen === ids.length && (ids.length >= count || selected.size >= count) ? 'all' : 'some'
}

type SharedProps = {
  index: number
  measure: Ref<HTMLTableRowElement> | undefined
  place: Place
}

function GroupRow({
  entry: { group, loaded },
  grouping,
  selection: { selected, toggleMany },
  index,
  measure,
  place,
}: SharedProps & {
  entry: Extract<Entry, { kind: 'group' }>
  grouping: Grouping
  selection: SelectedCertificates
}) {
  const { groupKey, certificateCount, tokenId, tokenName, isTokenDeleted, remoteAddress } = group
  const { firstHostname, lastHostname } = group
  const ids = loaded.map(({ certificateId }) => certificateId)
  const state = stateOf(ids, selected, certificateCount)
  const title = groupTitle(group)
  const notes = [newAddressWords(group), ...factsOf(loaded)].filter(note => note !== undefined)
  return (
    <tr {...ROW} ref={measure} data-index={index} className={styles.group}>
      <td {...CELL} className={styles.pickCell}>
        <Pick
          label={`Select ${title}`}
          state={state}
          onToggle={() => void toggleMany(ids, certificateCount, state !== 'all', groupKey)}
        />
      </td>
      <th {...HEADER} scope="rowgroup" colSpan={COLUMNS - 1}>
        <div className={styles.facts}>
          <b>{title}</b>
          {group.isUnlike && (
            // On phones each fact is a line, and the badge keeps its own shape in it.
            <span>
              <Badge tone="warn" icon={TriangleAlert}>
                Unlike the others
              </Badge>
            </span>
          )}
          {grouping !== 'address' && (
            <span>
              <small>Token</small>{' '}
              {tokenId === undefined ? (
                <span className="muted">not recorded</span>
              ) : isTokenDeleted ? (
                <span className="muted">deleted since</span>
              ) : (
                <Link
                  to="/org_{$organization}/projects/$projectId/tokens"
                  params={place}
                  search={{ q: tokenId }}
                >
                  {tokenName ?? tokenId}
                </Link>
              )}
            </span>
          )}
          {grouping !== 'token' && (
            <span>
              <small>Address</small>{' '}
              {remoteAddress === undefined ? (
                <span className="muted">not recorded</span>
              ) : (
                <span className="mono">{remoteAddress}</span>
              )}
            </span>
          )}
          {firstHostname !== undefined && certificateCount > 1 && (
            <span>
              <small>Host names</small> <span className="mono">{firstHostname}</span>
              {lastHostname !== firstHostname && (
                <>
                  {' to '}
                  <span className="mono">{lastHostname}</span>
                </>
              )}
            </span>
          )}
        </div>
        {notes.map(note => (
          <p key={note} className={styles.note}>
            <TriangleAlert className="icon small-icon" aria-hidden />
            <span>{note}</span>
          </p>
        ))}
      </th>
    </tr>
  )
}

/** Facts about the device of a group, if the group has only one loaded row. They are shown above the group. */
function factsOf(loaded: readonly PendingCertificate[]): string[] {
  return loaded.length > 1 ? [] : loaded.flatMap(certificateFacts)
}

/** Warnings about a pending certificate: its device has another one, or another device has the certificate or the host name too. */
function certificateFacts({ known, sameCertificate, sameHostname, hostname }: PendingCertificate): string[] {
  return [
    ...(sameCertificate ? [`${deviceNameText(sameCertificate)} has this certificate too.`] : []),
    ...(known ? [knownWords(known)] : []),
    ...(sameHostname
      ? [`${sameHostname.name ?? sameHostname.deviceId} has the host name ${hostname} too.`]
      : []),
  ]
}

function knownWords({ isConnected, acceptedAt }: NonNullable<PendingCertificate['known']>): string {
  const day = acceptedAt === undefined ? undefined : dayAndMonth(Date.parse(acceptedAt))
  const meaning = 'Another certificate means a new key on it, or another device that uses its identity.'
  if (day === undefined) return `It had another certificate before, which is not accepted. ${meaning}`
  return isConnected
    ? `It is connected with the certificate accepted on ${day}. ${meaning}`
    : `It has a certificate accepted on ${day}. ${meaning}`
}

function CertificateRow({
  certificate,
  isSelected,
  isLeaving,
  onToggle,
  index,
  measure,
  place,
}: SharedProps & {
  certificate: PendingCertificate
  isSelected: boolean
  isLeaving: boolean
  onToggle: (isRange: boolean) => void
}) {
  const { certificateId, deviceId, firstSeen, fingerprint, known, sameCertificate, sameHostname } =
    certificate
  const nowMs = useNow()
  const name = deviceNameText(certificate)
  const seenMs = Date.parse(firstSeen)
  const link = {
    to: '/org_{$organization}/projects/$projectId/devices/$deviceId',
    params: { ...place, deviceId },
  } as const
  return (
    <tr
      {...ROW}
      ref={measure}
      data-index={index}
      data-certificate={isLeaving ? undefined : certificateId}
      className={isLeaving ? `just-changed ${styles.leaving}` : isSelected ? styles.selected : undefined}
    >
      <td {...CELL} className={styles.pickCell}>
        {!isLeaving && (
          <Pick label={`Select ${name}`} state={isSelected ? 'all' : 'none'} onToggle={onToggle} />
        )}
      </td>
      <td {...CELL} className={styles.device}>
        <Link {...link} className="name">
          <DeviceName {...certificate} />
        </Link>
        <Id id={deviceId} what={`id of ${name}`} />
      </td>
      <td {...CELL} className={styles.seen} data-k="First seen">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the tooltip must be reachable by keyboard */}
        <time dateTime={firstSeen} data-tip={absoluteTime(seenMs)} tabIndex={0}>
          {dayAndTime(seenMs, nowMs)}
        </time>
        <small>{relativeTime(seenMs, nowMs)}</small>
      </td>
      <td {...CELL} className={styles.certificate} data-k="Fingerprint">
        <Fingerprint text={fingerprint} of={name} />
        {(known || sameCertificate || sameHostname) && (
          <small className={styles.fact}>
            {[
              known && 'Known device with another certificate',
              sameCertificate && 'Certificate of another device too',
              sameHostname && 'Host name of another device too',
            ]
              .filter(Boolean)
              .join(' · ')}
          </small>
        )}
      </td>
      <td {...CELL} className={`end ${styles.view}`}>
        {isLeaving ? (
          <Decision deviceId={deviceId} certificateId={certificateId} />
        ) : (
          <LinkButton {...link} variant="ghost" size="sm">
            View<span className="visually-hidden"> {name}</span>
          </LinkButton>
        )}
      </td>
    </tr>
  )
}

const DECISIONS: Readonly<Record<string, string>> = {
  Active: 'Accepted',
  Rejected: 'Rejected',
  Revoked: 'Revoked',
}

/** Decision of another user about a certificate that was pending until now. */
function Decision({ deviceId, certificateId }: Pick<PendingCertificate, 'deviceId' | 'certificateId'>) {
  const { data, error } = useActionState('devices_GetDetails', { deviceId })
  if (!data && !isAbsent(error)) return null
  const status = data?.certificates.find(one => one.certificateId === certificateId)?.status
  if (status === 'Pending') return null
  return <Badge>{lookUp(DECISIONS, status ?? '', 'Deleted')}</Badge>
}

/** Numbers of certificates and devices in words: "22 certificates of 22 devices". */
export function totalWords(certificates: number, devices: number): string {
  return `${counted(certificates, 'certificate')} of ${counted(devices, 'device')}`
}
