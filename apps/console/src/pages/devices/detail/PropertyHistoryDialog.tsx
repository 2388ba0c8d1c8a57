import type { ActionOutput } from '@muster/actions/client'
import { useSuspenseInfiniteQuery } from '@tanstack/react-query'
import { actionPagesQuery } from '../../../api/queries.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { Dialog, DialogBody } from '../../../ui/app/Dialog.tsx'
import { LoadMore } from '../../../ui/app/LoadMore.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { copyTextOf, JsonValue } from '../../../ui/lazy/JsonValue.tsx'
import { SectionBoundary } from '../../../ui/lazy/SectionBoundary.tsx'
import { ActorChip } from '../../audit/shared/ActorChip.tsx'
import styles from './PropertyHistoryDialog.module.css'

/** Number of values per page. It is low, because the dialog scrolls as a whole and its foot must stay reachable. */
const PAGE_SIZE = 20

type Change = ActionOutput<'devices_QueryPropertyHistory'>['changes'][number]

type PropertyHistoryProps = { deviceId: string; name: string }

/** Past values of a property, newest first, with time and actor. New changes appear without a reload. */
export function PropertyHistoryDialog({
  onClose,
  ...property
}: PropertyHistoryProps & { onClose: () => void }) {
  return (
    <Dialog title={`Past values of ${property.name}`} onClose={onClose}>
      <SectionBoundary what="past values">
        <ChangeList {...property} />
      </SectionBoundary>
    </Dialog>
  )
}

function ChangeList({ deviceId, name }: PropertyHistoryProps) {
  const list = useSuspenseInfiniteQuery(
    actionPagesQuery('devices_QueryPropertyHistory', { deviceId, name, limit: PAGE_SIZE }),
  )
  const changes = list.data.pages.flatMap(page => page.changes)
  return (
    <>
      {(list.error || changes.length === 0) && (
        <DialogBody>
          <ErrorAlert title="Could not load past values." error={list.error} />
          {changes.length === 0 && <p className="muted">No past values.</p>}
        </DialogBody>
      )}
      <ul className={styles.changes}>
        {changes.map(change => (
          // The version alone is not unique: early versions of the hub began again at 1 when a removed property was set.
          <li key={`${change.version} ${change.changedAt}`}>
            <ChangeCells change={change} />
          </li>
        ))}
      </ul>
      {list.hasNextPage && (
        <LoadMore
          shown={changes.length}
          total={list.data.pages[0]?.total}
          what="values"
          busy={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        />
      )}
    </>
  )
}

function ChangeCells({ change: { value, isRemoved, actor, actorName, changedAt } }: { change: Change }) {
  return (
    <>
      {isRemoved ? <span className="muted">Removed</span> : <JsonValue value={value} />}
      <div className="row">
        <ActorChip actor={actor} name={actorName} />
        <span className="grow">
          <Time at={changedAt} />
        </span>
        {!isRemoved && <CopyButton text={copyTextOf(value)} label="Copy value" />}
      </div>
    </>
  )
}
