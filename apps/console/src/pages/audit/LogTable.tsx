import { type ReactNode, useContext, useState } from 'react'
import { clockTime } from '../../lib/app/local-time.ts'
import { absoluteTime, dayOf } from '../../lib/app/relative-time.ts'
import { useToggled } from '../../lib/app/use-toggled.ts'
import { ListFailed } from '../../ui/app/ListPage.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { Cell, Row, Table } from '../../ui/app/Table.tsx'
import { FoldButton } from '../../ui/lazy/FoldButton.tsx'
import { IdTail } from '../../ui/lazy/IdTail.tsx'
import { MachineName } from '../../ui/lazy/MachineName.tsx'
import { StateBadge } from '../../ui/lazy/StateBadge.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { actorLook } from './actors.ts'
import { causeOf, type Group, groupsOf } from './groups.ts'
import { LogDetail } from './LogDetail.tsx'
import { timeZone, utcOffset } from './log-time.ts'
import { SealLine } from './SealLine.tsx'
import { type Entry, isFailure, type Sealing } from './sentences/entry.ts'
import { entryIcon } from './sentences/names.ts'
import { Sentence } from './sentences/Sentence.tsx'
import { dataPreview } from './shown-data.ts'
import { STATUS_LOOKS } from './status-looks.ts'

/**
 * Columns of a log. `short` is for the log of an organization, project, repository or device. The logs of the instance have ID and Data as
 * further columns (docs/specification.md 2): `whole` is for the log of events, `actions` for the log of actions, which shows their status.
 */
export type LogColumns = 'short' | 'whole' | 'actions'

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
  const isFailed = useContext(ListFailed)
  const columns = isWhole ? 7 : 5
  const wide = (key: string, content: ReactNode, detail = false) => (
    <Row key={key} detail={detail}>
      <Cell span={columns}>{content}</Cell>
    </Row>
  )
  const groups = entries && groupsOf(entries)
  const sealLine = useSealPlace(groups ?? [])
  return (
    <div className={isWhole ? 'log all' : 'log'}>
      {notice}
      <Table
        caption={caption}
        widths={isWhole ? [122, 88, undefined, 206, 120, 168, 124] : [126, undefined, 256, 124, 130]}
        busy={!entries && !isFailed}
        dense={isWhole}
        head={
          <tr>
            {isWhole && <th scope="col">ID</th>}
            <th scope="col">Timestamp</th>
            <th scope="col">What happened</th>
            <th scope="col">Type</th>
            <th scope="col">Actor</th>
            {isWhole && <th scope="col">Data</th>}
            <th scope="col">{kind === 'actions' ? 'Status' : 'Action/Job id'}</th>
          </tr>
        }
      >
        {!groups && !isFailed && <SkeletonRows columns={columns} />}
        {!groups && isFailed && wide('failed', <span className="muted">Not loaded.</span>)}
        {groups?.length === 0 && wide('none', <NoMatch what="entries" onClear={onClear} />)}
        {groups?.flatMap((group, index) => {
          const [entry] = group.entries
          const { eventId: id, createdAt } = entry
          const before = groups[index - 1]?.entries[0]
          const day = dayOf(Date.parse(createdAt))
          const isNewDay = !before || dayOf(Date.parse(before.createdAt)) !== day
          const isOpen = open.has(id)
          return [
            isNewDay && wide(`day of ${id}`, <DayHeading at={createdAt} day={day} isFirst={index === 0} />),
            sealing &&
              index === sealLine &&
              wide(
                'seal',
                <SealLine
                  sealing={sealing}
                  above={index === 0 ? 'none' : groups[index - 1]?.entries[0].seal ? 'sealed' : 'waiting'}
                />,
              ),
            <LogRow key={id} group={group} columns={kind} isOpen={isOpen} onOpen={() => toggle(id)} />,
            isOpen && wide(`details of ${id}`, <LogDetail group={group} sealing={sealing} />, true),
          ]
        })}
      </Table>
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

function DayHeading({ at, day, isFirst }: { at: string; day: string; isFirst: boolean }) {
  return (
    <div className="dayline">
      <h2 className="day">{day}</h2>
      {isFirst && (
        <span className="zone">
          Times in {[...new Set([utcOffset(Date.parse(at)), timeZone()])].join(', ')}
        </span>
      )}
    </div>
  )
}

type LogRowProps = { group: Group; columns: LogColumns; isOpen: boolean; onOpen: () => void }

function LogRow({ group, columns, isOpen, onOpen }: LogRowProps) {
  const isWhole = columns !== 'short'
  const { entries, several } = group
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
  return (
    <Row>
      {isWhole && (
        <Cell label="ID">
          <span className="at">
            {fold}
            <IdTail id={id} what="entry id" />
          </span>
        </Cell>
      )}
      <Cell label="Timestamp">
        <span className="at">
          {!isWhole && fold}
          <time dateTime={createdAt} data-tip={absoluteTime(at)}>
            {clockTime(at)}
          </time>
          {!entry.seal && <span className="sr">, not sealed yet</span>}
        </span>
      </Cell>
      <Cell label="What happened">
        <div className={isFailure(entry) ? 'what bad' : 'what'}>
          <Icon className="i" aria-hidden />
          <span className="say">
            <Sentence entry={entry} several={several} />
            {ended !== undefined && ` by ${ended}`}
            {(reason !== undefined || (status !== undefined && columns !== 'actions')) && (
              <span className="why">
                {status !== undefined && columns !== 'actions' && (
                  <StateBadge looks={STATUS_LOOKS} state={status} />
                )}
                {reason !== undefined && <bdi>{reason}</bdi>}
              </span>
            )}
          </span>
        </div>
      </Cell>
      <Cell label="Type">
        <MachineName name={event} />
      </Cell>
      <Cell label="Actor">
        <ActorKind entry={entry} />
      </Cell>
      {isWhole && (
        <Cell label="Data">
          <code className="dat">{dataPreview(data)}</code>
        </Cell>
      )}
      {columns === 'actions' ? (
        <Cell label="Status">{status && <StateBadge looks={STATUS_LOOKS} state={status} />}</Cell>
      ) : (
        <Cell label="Action/Job id">
          {cause && <IdTail id={cause} what={entry.action ? 'action id' : 'job id'} />}
        </Cell>
      )}
    </Row>
  )
}

/** Icon and kind of an entry's actor, such as "User". The sentence contains the actor's name. */
function ActorKind({ entry: { actor } }: { entry: Entry }) {
  const { icon: Icon, kind } = actorLook(actor)
  return (
    <span className="who2">
      <Icon className="i i-14" aria-hidden />
      <span className="trunc">{kind}</span>
    </span>
  )
}
