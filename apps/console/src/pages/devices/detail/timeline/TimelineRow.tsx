import { Braces, Plug, ShieldCheck, Unplug, UserRound } from 'lucide-react'
import { memo, type ReactNode, useId } from 'react'
import { counted, formatCount } from '../../../../lib/app/format.ts'
import { FoldButton } from '../../../../ui/lazy/FoldButton.tsx'
import { HEALTH, OTA_STATUS } from '../property-names.ts'
import { ClockTime, wallTime } from './ClockTime.tsx'
import { EntryDetails } from './EntryDetails.tsx'
import type { Entry, EntryOf } from './entry.ts'
import { Sentence } from './Sentence.tsx'
import { ShortValue } from './ShortValue.tsx'
import { type SeverityLook, severityLook } from './severity-look.ts'
import styles from './TimelineRow.module.css'

type EntryRowProps = {
  deviceId: string
  entry: Entry
  isOpen: boolean
  /**
   * Called with the id of the entry to open, or with an empty string to close the entry. The function must not change between renders,
   * because a change would render all rows.
   */
  onOpen: (entryId: string) => void
}

/** An entry of a timeline as a row, which unfolds to show its details. */
export const EntryRow = memo(function EntryRow({ deviceId, entry, isOpen, onOpen }: EntryRowProps) {
  const id = useId()
  const { icon: Icon, tone, word } = lookOf(entry)
  return (
    <li className={isOpen ? `${styles.row} ${styles.open}` : styles.row} data-row data-line={lineOf(entry)}>
      <span className={`tabular ${styles.time}`}>
        <ClockTime at={entry.at} />
      </span>
      <span className={styles.line} aria-hidden="true" />
      <span className={styles.icon} data-tone={tone}>
        <Icon className="icon" aria-hidden />
        {word && <span className="visually-hidden">{word}: </span>}
      </span>
      <div className={`break-anywhere ${styles.text}`} id={id}>
        <Sentence entry={entry} />
      </div>
      <span className={`muted truncated ${styles.source}`}>{sourceOf(entry)}</span>
      <FoldButton
        label={`Details, ${wallTime(entry.at)}`}
        isOpen={isOpen}
        onChange={isNowOpen => onOpen(isNowOpen ? entry.entryId : '')}
      />
      {isOpen && <EntryDetails deviceId={deviceId} entry={entry} labelledBy={id} />}
    </li>
  )
})

type RunRowProps = {
  name: string
  entries: readonly EntryOf<'property'>[]
  isOpen: boolean
  onOpen: (isOpen: boolean) => void
}

/** One row for consecutive changes of the same property. It unfolds to show each change. */
export function RunRow({ name, entries, isOpen, onOpen }: RunRowProps) {
  const newest = entries[0]!
  const oldest = entries.at(-1)!
  const before = oldest.before
  return (
    <FoldedRow
      newest={newest}
      source={counted(entries.length, 'change')}
      label={`${entries.length} changes of ${name}`}
      isOpen={isOpen}
      onOpen={onOpen}
    >
      <bdi className="mono">{name}</bdi> changed {entries.length} times
      {before && !before.isRemoved && (
        <>
          , from <ShortValue value={before.value} isCut={before.isCut} />
        </>
      )}{' '}
      to <ShortValue value={newest.now.value} isCut={newest.now.isCut} />
    </FoldedRow>
  )
}

type ActsRowProps = Pick<RunRowProps, 'isOpen' | 'onOpen'> & { entries: readonly EntryOf<'audit'>[] }

/** One row for like acts of one actor. It unfolds to show each act. */
export function ActsRow({ entries, ...fold }: ActsRowProps) {
  const newest = entries[0]!
  return (
    <FoldedRow
      newest={newest}
      source={counted(entries.length, 'act')}
      label={`${entries.length} like acts`}
      {...fold}
    >
      <Sentence entry={newest} /> and {formatCount(entries.length - 1)} more like it
    </FoldedRow>
  )
}

type FoldedRowProps = Pick<RunRowProps, 'isOpen' | 'onOpen'> & {
  newest: Entry
  source: string
  /** Accessible name of the button that unfolds the row. */
  label: string
  children: ReactNode
}

function FoldedRow({ newest, source, label, isOpen, onOpen, children }: FoldedRowProps) {
  const { icon: Icon } = lookOf(newest)
  return (
    <li className={styles.row} data-row data-line={lineWhile(newest.isConnected)}>
      <span className={`tabular ${styles.time}`}>
        <ClockTime at={newest.at} />
      </span>
      <span className={styles.line} aria-hidden="true" />
      <span className={styles.icon}>
        <Icon className="icon" aria-hidden />
      </span>
      <div className={`muted break-anywhere ${styles.text} ${styles.summary}`}>{children}</div>
      <span className={`muted truncated ${styles.source}`}>{source}</span>
      <FoldButton label={label} isOpen={isOpen} onChange={onOpen} />
    </li>
  )
}

/** Line beside a row: the device was connected, was not, has just connected, or has just lost the connection. */
function lineOf(entry: Entry): string {
  if (entry.type === 'connected')
    return entry.offlineSecs === undefined ? 'begin first' : entry.offlineSecs === 0 ? 'connected' : 'begin'
  return entry.type === 'disconnected' ? 'end' : lineWhile(entry.isConnected)
}

/** Line while the device was connected, while it was not connected, or before its first recorded connection. */
export function lineWhile(isConnected: boolean | undefined): string {
  return isConnected === undefined ? 'unknown' : isConnected ? 'connected' : 'disconnected'
}

type Look = Omit<SeverityLook, 'tone'> & { tone?: SeverityLook['tone']; word?: string }

function lookOf(entry: Entry): Look {
  if (entry.type === 'connected') return { icon: Plug, tone: 'ok' }
  if (entry.type === 'disconnected') return { icon: Unplug }
  if (entry.kind === 'person') return { icon: UserRound }
  if (entry.type === 'event' || entry.severity !== 'Info')
    return { ...severityLook(entry.severity), word: entry.severity }
  if (entry.kind === 'certificate') return { icon: ShieldCheck }
  return { icon: Braces }
}

/** Source of an entry in one word. */
function sourceOf(entry: Entry): string {
  if (entry.type === 'event') return entry.category ?? 'event'
  if (entry.type === 'tag') return 'tag'
  if (entry.type === 'audit' && entry.event === 'devices_NameChanged') return 'name'
  if (entry.type === 'audit') return entry.kind === 'person' ? 'action' : entry.kind
  if (entry.type !== 'property') return 'connection'
  if (entry.name === OTA_STATUS) return 'ota'
  return entry.name === HEALTH ? 'health' : 'property'
}
