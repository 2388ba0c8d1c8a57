import { Braces, Plug, ShieldCheck, Unplug, UserRound } from 'lucide-react'
import { memo, useId } from 'react'
import type { IconType } from '../../../../ui/icon.ts'
import { FoldButton } from '../../../../ui/lazy/FoldButton.tsx'
import { HEALTH, OTA_STATUS } from '../property-names.ts'
import { ClockTime, wallTime } from './ClockTime.tsx'
import { EntryDetails } from './EntryDetails.tsx'
import type { Entry, EntryOf } from './entry.ts'
import { Sentence } from './Sentence.tsx'
import { ShortValue } from './ShortValue.tsx'
import { severityLook } from './severity-look.ts'

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
    <li className={`tl ${lineOf(entry)}${isOpen ? ' open' : ''}`}>
      <span className="tt num">
        <ClockTime at={entry.at} />
      </span>
      <span className="tln" aria-hidden="true" />
      <span className={`ti ${tone}`}>
        <Icon className="i" aria-hidden />
        {word && <span className="sr">{word}: </span>}
      </span>
      <div className="tx" id={id}>
        <Sentence entry={entry} />
      </div>
      <span className="src">{sourceOf(entry)}</span>
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
    <li className={`tl ${lineWhile(newest.isConnected)} run`}>
      <span className="tt num">
        <ClockTime at={newest.at} />
      </span>
      <span className="tln" aria-hidden="true" />
      <span className="ti">
        <Braces className="i" aria-hidden />
      </span>
      <div className="tx">
        <bdi className="mono">{name}</bdi> changed {entries.length} times
        {before && !before.isRemoved && (
          <>
            , from <ShortValue value={before.value} isCut={before.isCut} />
          </>
        )}{' '}
        to <ShortValue value={newest.now.value} isCut={newest.now.isCut} />
      </div>
      <span className="src">{entries.length} properties</span>
      <FoldButton label={`${entries.length} changes of ${name}`} isOpen={isOpen} onChange={onOpen} />
    </li>
  )
}

/** CSS classes of the line beside a row: the device was connected, was not, has just connected, or has just lost the connection. */
function lineOf(entry: Entry): string {
  if (entry.type === 'connected')
    return entry.offlineSecs === undefined ? 'edge first' : entry.offlineSecs === 0 ? 'on' : 'edge'
  return entry.type === 'disconnected' ? 'last' : lineWhile(entry.isConnected)
}

/** CSS class of the line while the device was connected, while it was not connected, or before its first recorded connection. */
export function lineWhile(isConnected: boolean | undefined): string {
  return isConnected === undefined ? 'none' : isConnected ? 'on' : 'off'
}

type Look = { icon: IconType; tone: string; word?: string }

function lookOf(entry: Entry): Look {
  if (entry.type === 'connected') return { icon: Plug, tone: 'ok' }
  if (entry.type === 'disconnected') return { icon: Unplug, tone: '' }
  if (entry.kind === 'person') return { icon: UserRound, tone: '' }
  if (entry.type === 'event' || entry.severity !== 'Info')
    return { ...severityLook(entry.severity), word: entry.severity }
  if (entry.kind === 'certificate') return { icon: ShieldCheck, tone: '' }
  return { icon: Braces, tone: '' }
}

/** Source of an entry in one word. */
function sourceOf(entry: Entry): string {
  if (entry.type === 'event') return entry.category ?? 'event'
  if (entry.type === 'tag') return 'tag'
  if (entry.type === 'audit') return entry.kind === 'person' ? 'action' : entry.kind
  if (entry.type !== 'property') return 'connection'
  if (entry.name === OTA_STATUS) return 'ota'
  return entry.name === HEALTH ? 'health' : 'property'
}
