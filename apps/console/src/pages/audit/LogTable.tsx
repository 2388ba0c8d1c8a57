import { type ReactNode, useState } from 'react'
import { formatCount } from '../../lib/app/format.ts'
import { clockTime, utcOffset } from '../../lib/app/local-time.ts'
import { absoluteTime, dayOf } from '../../lib/app/relative-time.ts'
import { useToggled } from '../../lib/app/use-toggled.ts'
import { Id } from '../../ui/app/Id.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { OtherOffset } from '../../ui/app/OtherOffset.tsx'
import { FoldButton } from '../../ui/lazy/FoldButton.tsx'
import folding from '../../ui/lazy/folding-rows.module.css'
import { MachineName } from '../../ui/lazy/MachineName.tsx'
import { StateBadge } from '../../ui/lazy/StateBadge.tsx'
import { Cell, type Column, Row, Table, WideRow } from '../../ui/lazy/Table.tsx'
import { actorLook } from './actors.ts'
import { causeOf, type Group, groupsOf } from './groups.ts'
import { LogDetail } from './LogDetail.tsx'
import styles from './LogTable.module.css'
import { SealLine } from './SealLine.tsx'
import { entryIcon } from './sentences/names.ts'
import { Sentence } from './sentences/Sentence.tsx'
import { type Entry, isFailure, type Sealing } from './shared/entry.ts'
import { timeZone } from './shared/log-time.ts'
import { dataPreview } from './shown-data.ts'
import { STATUS_LOOKS } from './status-looks.ts'

/**
 * Columns of a log. `short` is for the log of an organization, project, repository or device. The logs of the instance have the specified
 * columns first (docs/specification.md 2): `whole` is for the log of events, `actions` for the log of actions, which shows their status.
 */
export type LogColumns = 'short' | 'whole' | 'actions'

/** Width of each column in the logs of the instance. The sentence takes the rest. */
const WHOLE_PX: Readonly<Record<string, number>> = {
  ID: 172,
  Timestamp: 88,
  Type: 206,
  Actor: 104,
  Data: 140,
  'Action/Job id': 140,
  Status: 124,
}
const SENTENCE: Column = { name: 'What happened' }
const whole = (...names: string[]): Column[] => names.map(name => ({ name, widthPx: WHOLE_PX[name]! }))
const COLUMNS: Record<LogColumns, readonly Column[]> = {
  short: [
    { name: 'Timestamp', widthPx: 126 },
    SENTENCE,
    { name: 'Type', widthPx: 256 },
    { name: 'Actor', widthPx: 124 },
    { name: 'Action/Job id', widthPx: 152 },
  ],
  whole: [...whole('ID', 'Timestamp', 'Type', 'Actor', 'Data', 'Action/Job id'), SENTENCE],
  actions: [...whole('ID', 'Type', 'Actor', 'Data', 'Status', 'Timestamp'), SENTENCE],
}

type LogTableProps = {
  caption: string
  /** `undefined` while the entries load. */
  entries: readonly Entry[] | undefined
  sealing: Sealing | undefined
  columns: LogColumns
  /** Content that covers the top of the table, so that it does not move the rows. */
  notice?: ReactNode
  /** Removes the filter. */
  onClear: () => void
}

/** Entries of a log as sentences, newest first, with a heading per day. Each row unfolds. */
export function LogTable({ caption, entries, sealing, columns: kind, notice, onClear }: LogTableProps) {
  const isWhole = kind !== 'short'
  // The ids of unfolded rows are kept here and not in the rows, because rows outside of the viewport are unmounted.
  const [open, toggle] = useToggled()
  const groups = entries && groupsOf(entries)
  const sealLine = useSealPlace(groups ?? [])
  return (
    <div className={`${folding.rows} ${styles.log} ${isWhole ? styles.whole : ''}`}>
      {notice}
      <Table
        caption={caption}
        columns={COLUMNS[kind]}
        dense={isWhole}
        onPhones="cards"
        none={<NoMatch what="entries" onClear={onClear} />}
        rows={groups?.flatMap((group, index) => {
          const [entry] = group.entries
          const { eventId: id, createdAt } = entry
          const before = groups[index - 1]?.entries[0]
          const day = dayOf(Date.parse(createdAt))
          const isNewDay = !before || dayOf(Date.parse(before.createdAt)) !== day
          const isOpen = open.has(id)
          return [
            isNewDay && (
              <WideRow key={`day of ${id}`}>
                <DayHeading day={day} isFirst={index === 0} />
              </WideRow>
            ),
            sealing && index === sealLine && (
              <WideRow key="seal">
                <SealLine
                  sealing={sealing}
                  above={index === 0 ? 'none' : groups[index - 1]?.entries[0].seal ? 'sealed' : 'waiting'}
                />
              </WideRow>
            ),
            <LogRow key={id} group={group} columns={kind} isOpen={isOpen} onOpen={() => toggle(id)} />,
            isOpen && (
              <WideRow key={`details of ${id}`} detail>
                <LogDetail group={group} sealing={sealing} />
              </WideRow>
            ),
          ]
        })}
      />
    </div>
  )
}

/**
 * Index of the first group below the line between waiting and sealed (hashed and signed) entries; -1 without such a group. When entries
 * are sealed, the line keeps its place until newer entries are shown, so that no row moves.
 */
function useSealPlace(groups: readonly Group[]): number {
  const idAt = (index: number) => groups[index]?.entries[0].eventId
  const [place, setPlace] = useState<{ newestId: string | undefined; lastWaitingId: string | undefined }>()
  const isKept = place !== undefined && place.newestId === idAt(0)
  const lastWaiting = isKept ? groups.findIndex((_, index) => idAt(index) === place.lastWaitingId) : -1
  const found = groups.findIndex(({ entries: [entry] }, index) => index > lastWaiting && entry.seal)
  const lastWaitingId = idAt((found === -1 ? groups.length : found) - 1)
  if (!isKept || place.lastWaitingId !== lastWaitingId) setPlace({ newestId: idAt(0), lastWaitingId })
  return found
}

function DayHeading({ day, isFirst }: { day: string; isFirst: boolean }) {
  return (
    <div className={styles.day}>
      <h2>{day}</h2>
      {isFirst && (
        <span className="tiny muted">
          Times in {[...new Set([utcOffset(Date.now()), timeZone()])].join(', ')}
        </span>
      )}
    </div>
  )
}

type LogRowProps = { group: Group; columns: LogColumns; isOpen: boolean; onOpen: () => void }

function LogRow({ group, columns, isOpen, onOpen }: LogRowProps) {
  const isWhole = columns !== 'short'
  const { entries, several, isAlike } = group
  // `entries` is sorted newest first. The row shows the time of the oldest entry, at which the action began.
  const [newest] = entries
  const entry = entries.at(-1) ?? newest
  const { eventId: id, createdAt, event, status, reason, data } = entry
  const at = Date.parse(createdAt)
  const end = clockTime(Date.parse(newest.createdAt))
  const ended = end === clockTime(at) ? undefined : end
  const fold = <FoldButton label={`Details of ${clockTime(at)}, ${id}`} isOpen={isOpen} onChange={onOpen} />
  const Icon = entryIcon(entry)
  const cause = causeOf(entry)
  const more = isAlike ? entries.length - 1 : 0
  const timestamp = (
    <Cell>
      <span className={folding.line}>
        {!isWhole && fold}
        <time dateTime={createdAt} data-tip={absoluteTime(at)}>
          {clockTime(at)}
          <OtherOffset atMs={at} />
        </time>
        {!entry.seal && <span className="visually-hidden">, not sealed yet</span>}
      </span>
    </Cell>
  )
  const what = (
    <Cell>
      <div className={`${styles.event} ${isFailure(entry) ? styles.failed : ''}`}>
        <Icon className="icon" aria-hidden />
        <span className={styles.sentence}>
          <Sentence entry={entry} several={several} />
          {ended !== undefined && ` by ${ended}`}
          {more > 0 && <b>{` and ${formatCount(more)} more like it`}</b>}
          {(reason !== undefined || (status !== undefined && columns !== 'actions')) && (
            <span className={styles.reason}>
              {status !== undefined && columns !== 'actions' && (
                <StateBadge looks={STATUS_LOOKS} state={status} />
              )}
              {reason !== undefined && <bdi>{reason}</bdi>}
            </span>
          )}
        </span>
      </div>
    </Cell>
  )
  return (
    <Row>
      {isWhole && (
        <Cell>
          <span className={folding.line}>
            {fold}
            <Id id={id} what="entry id" cutMiddle />
          </span>
        </Cell>
      )}
      {columns !== 'actions' && timestamp}
      {!isWhole && what}
      <Cell>
        <MachineName name={event} />
      </Cell>
      <Cell>
        <ActorKind entry={entry} />
      </Cell>
      {isWhole && (
        <Cell>
          <code className={styles.data}>{dataPreview(data)}</code>
        </Cell>
      )}
      {columns === 'actions' ? (
        <Cell>{status && <StateBadge looks={STATUS_LOOKS} state={status} />}</Cell>
      ) : (
        <Cell>{cause && <Id id={cause} what={entry.action ? 'action id' : 'job id'} cutMiddle />}</Cell>
      )}
      {columns === 'actions' && timestamp}
      {isWhole && what}
    </Row>
  )
}

/** Icon and kind of an entry's actor, such as "User". The sentence contains the actor's name. */
function ActorKind({ entry: { actor } }: { entry: Entry }) {
  const { icon: Icon, kind } = actorLook(actor)
  return (
    <span className={styles.actor}>
      <Icon className="icon small-icon" aria-hidden />
      <span className="truncated">{kind}</span>
    </span>
  )
}
