import { Link } from '@tanstack/react-router'
import { Ban, Check, FileInput, PencilLine, ShieldCheck, ShieldX, Tag, Trash2, Undo2, X } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useActionPages } from '../../../api/queries.ts'
import { useNow } from '../../../lib/app/clock.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { durationInWords } from '../../../lib/app/relative-time.ts'
import { useSession } from '../../../session.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { ExportMenu } from '../../../ui/app/ExportMenu.tsx'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Mark } from '../../../ui/app/Mark.tsx'
import { Button } from '../../../ui/Button.tsx'
import { LinkButton } from '../../../ui/LinkButton.tsx'
import { ACTIONS, Cell, type Column, Row, Table } from '../../../ui/lazy/Table.tsx'
import { DeviceName } from '../../devices/shared/DeviceName.tsx'
import { deviceNameText } from '../../devices/shared/device-name.ts'
import { BulkProgress } from '../BulkProgress.tsx'
import { Changes, changesHead } from '../changes/Changes.tsx'
import { UndoButton } from '../UndoButton.tsx'
import { useBulkAction } from '../use-bulk-action.ts'
import styles from './BulkResult.module.css'
import bar from './bar.module.css'
import {
  alreadySetCount,
  type BulkAction,
  type BulkItem,
  type BulkKind,
  doingWord,
  doneWord,
  isChange,
  isUnfinished,
  reasonOf,
  refusedCount,
  resultTitle,
  subjectWords,
} from './bulk-words.ts'
import { momentOf } from './moment.ts'

/** Number of succeeded devices shown at first. A button such as "Show 11 more" reveals the rest. */
const FIRST_ROWS = 7
const PAGE_SIZE = 50

const ICON: Record<string, typeof Check> = {
  Accept: ShieldCheck,
  Reject: ShieldX,
  Delete: Trash2,
  SetLabels: Tag,
  Rename: PencilLine,
  Import: FileInput,
  Undo: Undo2,
} satisfies Record<BulkKind, typeof Check>

type BulkResultProps = {
  projectId: string
  organization: string
  bulkActionId: string
  onClose: () => void
  /** Repeats the action for an item that failed because of an error of the hub. */
  onAgain?: ((item: BulkItem) => void) | undefined
  /** Called with the id of the bulk action that undoes this one. */
  onResult?: (bulkActionId: string) => void
  /** Whether the list of its devices is below. */
  isOverList?: boolean
}

/** Result of a bulk action with next steps: refused items first, then the others. While the action runs, shows its progress. */
export function BulkResult({
  projectId,
  organization,
  bulkActionId,
  onClose,
  onAgain,
  onResult,
  isOverList = false,
}: BulkResultProps) {
  const { data: action, error } = useBulkAction(projectId, bulkActionId)
  const heading = useRef<HTMLHeadingElement>(null)
  const isThere = action !== undefined
  useEffect(() => {
    if (isThere) heading.current?.focus({ preventScroll: true })
  }, [isThere])
  if (!action)
    return (
      <ErrorAlert
        title="Could not load the result."
        error={error}
        action={<CloseButton onClose={onClose} />}
      />
    )
  const place = { organization, projectId }
  const hasEnded = !isUnfinished(action)
  const hasList = action.kind === 'Accept' || isChange(action.kind)
  const Icon = ICON[action.kind] ?? Check
  return (
    <section className={`sheet ${styles.result}`} aria-labelledby="bulk-title">
      <header>
        <span
          className={`${styles.sign} ${hasList && action.succeededCount > 0 ? styles.good : ''}`}
          aria-hidden="true"
        >
          <Icon className="icon" />
        </span>
        <div className="grow">
          <h2 id="bulk-title" ref={heading} tabIndex={-1}>
            {hasEnded
              ? resultTitle(action)
              : isChange(action.kind)
                ? `${doingWord(action.kind)}, ${subjectWords(action)}`
                : `${action.kind} ${subjectWords(action)}`}
          </h2>
          <Story action={action} />
        </div>
        <div className={`row ${styles.actions}`}>
          {hasEnded && onResult && <UndoButton projectId={projectId} action={action} onStarted={onResult} />}
          {hasEnded && (
            <ExportMenu
              label="Export result"
              action="devices_QueryBulkActionItems"
              input={{ projectId, bulkActionId }}
            />
          )}
          {hasEnded && hasList && !isOverList && action.succeededCount > 0 && (
            <LinkButton
              variant="primary"
              to="/org_{$organization}/projects/$projectId/devices"
              params={place}
              search={{ result: bulkActionId }}
            >
              {action.succeededCount === 1
                ? 'Show the device'
                : `Show the ${formatCount(action.succeededCount)} devices`}
            </LinkButton>
          )}
          <CloseButton onClose={onClose} />
        </div>
      </header>
      {!hasEnded && <BulkProgress projectId={projectId} action={action} />}
      {refusedCount(action) > 0 && <Refused action={action} place={place} onAgain={onAgain} />}
      {hasEnded && action.succeededCount > 0 && <Done action={action} place={place} />}
    </section>
  )
}

function CloseButton({ onClose }: { onClose: () => void }) {
  return <IconButton icon={X} label="Close the result" onClick={onClose} />
}

/** Actor, times and items of a bulk action, and the number of accepted devices that have connected. */
function Story({ action }: { action: BulkAction }) {
  const { userId } = useSession()
  const nowMs = useNow()
  const {
    startedAt,
    endedAt,
    createdAt,
    actorName,
    kind,
    succeededCount,
    connectedCount,
    status,
    itemCount,
  } = action
  const canceller = action.cancelledByUserId === userId ? 'you' : action.cancelledByName
  const left = itemCount - succeededCount - refusedCount(action)
  return (
    <p>
      By {action.userId === userId ? 'you' : (actorName ?? 'a deleted account')} at{' '}
      {momentOf(Date.parse(startedAt ?? createdAt), nowMs)}, {subjectWords(action)}.{' '}
      <ChangeStory action={action} />
      {status === 'Cancelled' &&
        `Cancelled${canceller ? ` by ${canceller}` : ''} at ${momentOf(Date.parse(endedAt ?? createdAt), nowMs)}; ${formatCount(left)} left as they were. `}
      {status === 'Stopped' &&
        `Stopped, because the session or the rights of that person ended; ${formatCount(left)} left as they were. `}
      {kind === 'Accept' && endedAt !== undefined && succeededCount > 0 && (
        <>
          <b>
            {succeededCount === 1
              ? connectedCount === 1
                ? 'It has connected'
                : 'It has not connected yet'
              : `${formatCount(connectedCount)} of the ${formatCount(succeededCount)} have connected`}
          </b>
          {connectedCount > 0 ? ' since.' : succeededCount === 1 ? '.' : ' so far.'}
        </>
      )}
    </p>
  )
}

/** Seconds after the end of a change in which it can be undone, as `BULK_CHANGE_UNDO_SECS` of the contract. */
const UNDO_SECS = 600

/** How many devices had the values of a change already, and until when it can be undone. */
function ChangeStory({ action }: { action: BulkAction }) {
  const nowMs = useNow()
  const already = alreadySetCount(action)
  const { kind, pattern, undoForSecs, undoneBy, endedAt } = action
  if (!isChange(kind)) return null
  return (
    <>
      {pattern !== undefined && (
        <>
          Pattern <span className="mono">{pattern}</span>.{' '}
        </>
      )}
      {already > 0 && `${formatCount(already)} had it already. `}
      {undoneBy && 'It was undone. '}
      {!undoneBy &&
        undoForSecs !== undefined &&
        undoForSecs > 0 &&
        endedAt !== undefined &&
        `It can be undone until ${momentOf(Date.parse(endedAt) + UNDO_SECS * 1000, nowMs)}. `}
    </>
  )
}

type Place = { organization: string; projectId: string }
type PartProps = { action: BulkAction; place: Place }

const REFUSED: readonly Column[] = [
  { name: 'Name and id', kind: 'title', widthPx: 264 },
  { name: 'Reason', className: styles.reason },
  { name: 'Next', kind: 'actions', className: styles.next, widthPx: 190 },
]
const DELETED: readonly Column[] = [
  { name: 'Name', kind: 'title', widthPx: 264 },
  { name: 'Id', className: styles.idCell, widthPx: 250 },
]
const STATUS: Column = { name: 'Status', className: styles.status, widthPx: 150 }
const VIEW: Column = { ...ACTIONS, className: styles.next, widthPx: 72 }
const DECIDED: readonly Column[] = [
  ...DELETED,
  STATUS,
  { name: 'Connected for', className: `tabular ${styles.connected}` },
  VIEW,
]

function Refused({ action, place, onAgain }: PartProps & Pick<BulkResultProps, 'onAgain'>) {
  const { items, more } = useItems(action, place.projectId, 'Refused')
  const count = `${formatCount(refusedCount(action))} ${isChange(action.kind) ? 'not changed' : 'refused'}`
  return (
    <>
      <h3>
        <Ban className="icon small-icon" aria-hidden />
        {count}
      </h3>
      <Table
        caption={count}
        columns={REFUSED}
        className={`${styles.table} ${styles.refused}`}
        onPhones="cards"
        bare
        rows={items.map(item => (
          <Row key={`${item.deviceId} ${item.certificateId}`}>
            <Cell>
              <Name item={item} place={place} />
              <span className={`mono muted ${styles.id}`}>{item.deviceId}</span>
            </Cell>
            <Cell>
              <Why item={item} />
            </Cell>
            <Cell>
              <Next item={item} place={place} onAgain={onAgain} />
            </Cell>
          </Row>
        ))}
      />
      {more}
    </>
  )
}

/** Reason why the bulk action did not change an item, with actor and time, and a line that explains the reason. */
function Why({ item }: { item: BulkItem }) {
  const { userId } = useSession()
  const nowMs = useNow()
  const { what, means } = reasonOf(item)
  const { actor, actorName, actedAt } = item
  const isOwn = actor !== undefined && 'userId' in actor && actor.userId === userId
  return (
    <>
      <span>
        {what}
        {actor && (
          <>
            {' by '}
            {isOwn ? (
              'you'
            ) : (
              <b>{actorName ?? (actor.actor === 'Device' ? 'the device' : 'a deleted account')}</b>
            )}
          </>
        )}
        {actedAt && ` at ${momentOf(Date.parse(actedAt), nowMs)}`}.
      </span>
      <small className="help">{means}</small>
    </>
  )
}

function Next({ item, place, onAgain }: { item: BulkItem; place: Place } & Pick<BulkResultProps, 'onAgain'>) {
  const { next } = reasonOf(item)
  const name = <span className="visually-hidden"> {deviceNameText(item)}</span>
  if (next === 'log')
    return (
      <Link
        to="/org_{$organization}/projects/$projectId/log"
        params={place}
        search={{ type: 'devices_Deleted' }}
      >
        Show in the audit log{name}
      </Link>
    )
  if (next === 'again' && onAgain)
    return (
      <Button size="sm" onClick={() => onAgain(item)}>
        Try again{name}
      </Button>
    )
  if (!item.exists) return null
  return (
    <Link
      to="/org_{$organization}/projects/$projectId/devices/$deviceId"
      params={{ ...place, deviceId: item.deviceId }}
    >
      View device{name}
    </Link>
  )
}

function Done({ action, place }: PartProps) {
  const { kind, succeededCount } = action
  const [isWhole, setWhole] = useState(false)
  const { items, more } = useItems(action, place.projectId, 'Succeeded')
  const shown = isWhole ? items : items.slice(0, FIRST_ROWS)
  const title = `${formatCount(succeededCount)} ${doneWord(kind)}`
  const head = changesHead(shown)
  const columns =
    kind === 'Delete'
      ? DELETED
      : isChange(kind)
        ? [...DELETED, STATUS, { name: head.name, className: styles.changes }, VIEW]
        : DECIDED
  return (
    <>
      <h3>
        <Check className="icon small-icon" aria-hidden />
        {title}
      </h3>
      <Table
        caption={title}
        columns={columns}
        className={`${styles.table} ${styles.done}`}
        dense
        onPhones="cards"
        bare
        rows={shown.map(item => (
          <DoneRow
            key={`${item.deviceId} ${item.certificateId}`}
            item={item}
            kind={kind}
            isOnly={head.isOnly}
            place={place}
          />
        ))}
      />
      {!isWhole && succeededCount > FIRST_ROWS && (
        <div className={styles.more}>
          <button type="button" className={bar.link} onClick={() => setWhole(true)}>
            Show {formatCount(succeededCount - FIRST_ROWS)} more
          </button>
        </div>
      )}
      {isWhole && more}
    </>
  )
}

type DoneRowProps = { item: BulkItem; kind: BulkKind; isOnly: boolean; place: Place }

function DoneRow({ item, kind, isOnly, place }: DoneRowProps) {
  const { isConnected, currentConnectionDurationSecs, exists } = item
  return (
    <Row>
      <Cell>
        <Name item={item} place={place} />
      </Cell>
      <Cell>
        <span className="mono muted">{item.deviceId}</span>
      </Cell>
      {kind !== 'Delete' && (
        <Cell>
          <Mark state={isConnected ? 'on' : 'off'}>{isConnected ? 'Connected' : 'Disconnected'}</Mark>
        </Cell>
      )}
      {isChange(kind) && (
        <Cell>
          <Changes changes={item.changes ?? []} isOnly={isOnly} />
        </Cell>
      )}
      {kind !== 'Delete' && !isChange(kind) && (
        <Cell>
          <span className="muted">
            {isConnected
              ? `for ${durationInWords(currentConnectionDurationSecs ?? 0)}`
              : exists && kind === 'Accept'
                ? 'not yet, tries again within 60 s'
                : '–'}
          </span>
        </Cell>
      )}
      {kind !== 'Delete' && (
        <Cell>
          {exists && (
            <LinkButton
              to="/org_{$organization}/projects/$projectId/devices/$deviceId"
              params={{ ...place, deviceId: item.deviceId }}
              variant="ghost"
              size="sm"
            >
              View<span className="visually-hidden"> {deviceNameText(item)}</span>
            </LinkButton>
          )}
        </Cell>
      )}
    </Row>
  )
}

function Name({ item, place }: { item: BulkItem; place: Place }) {
  if (!item.exists)
    return (
      <span className={styles.name}>
        <DeviceName {...item} />
      </span>
    )
  return (
    <Link
      className={styles.name}
      to="/org_{$organization}/projects/$projectId/devices/$deviceId"
      params={{ ...place, deviceId: item.deviceId }}
    >
      <DeviceName {...item} />
    </Link>
  )
}

/** The items that have the given outcome, and a button that loads further pages. */
function useItems(
  { bulkActionId }: BulkAction,
  projectId: string,
  outcome: 'Refused' | 'Succeeded',
): { items: BulkItem[]; more: ReactNode } {
  const query = useActionPages('devices_QueryBulkActionItems', {
    projectId,
    bulkActionId,
    outcome,
    limit: PAGE_SIZE,
  })
  const items = query.data?.pages.flatMap(page => page.items) ?? []
  const total = query.data?.pages[0]?.total
  const more = query.hasNextPage && (
    <div className={styles.more}>
      <Button size="sm" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        Show {total === undefined ? 'more' : counted(total - items.length, 'more device')}
      </Button>
    </div>
  )
  return { items, more }
}
