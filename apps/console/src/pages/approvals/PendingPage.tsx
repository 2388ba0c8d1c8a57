import { ActionError } from '@muster/actions/client'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ShieldCheck } from 'lucide-react'
import { useEffect, useState } from 'react'
import { invalidateActions } from '../../api/queries.ts'
import { announce } from '../../lib/announce.ts'
import { counted, formatCount } from '../../lib/app/format.ts'
import { useSendOnLeave } from '../../lib/app/held-request.ts'
import { usePageSearch } from '../../lib/app/search.ts'
import { useShortcut } from '../../lib/app/shortcuts.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { LiveStamp } from '../../ui/app/LiveStamp.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { HeadNotice, Page, PageHead } from '../../ui/app/Page.tsx'
import { RefreshButton } from '../../ui/app/RefreshButton.tsx'
import { toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { Breadcrumb } from '../../ui/lazy/Breadcrumb.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { BulkPreviewDialog } from '../bulk/shared/BulkPreviewDialog.tsx'
import { BulkResult } from '../bulk/shared/BulkResult.tsx'
import { useCurrentBulk } from '../bulk/shared/bulk-store.ts'
import type { BulkItem } from '../bulk/shared/bulk-words.ts'
import { MAX_INLINE } from '../bulk/shared/bulk-words.ts'
import { closeBulk, holdBulk, isHeldBulk, sendBulk } from '../bulk/shared/current-bulk.ts'
import { type BulkPreview, useBulkRun } from '../bulk/shared/use-bulk-run.ts'
import { PendingBar } from './PendingBar.tsx'
import styles from './PendingPage.module.css'
import { PendingTable, totalWords } from './PendingTable.tsx'
import { GROUPINGS, pendingSearch } from './pending-search.ts'
import { useLeavingRows } from './use-leaving-rows.ts'
import { usePendingList } from './use-pending-list.ts'
import { useSelectedCertificates } from './use-selected-certificates.ts'

const ROUTE = '/authenticated/org_{$organization}/projects/$projectId/devices/pending'
const COLUMNS = 5
/** HTTP status of a list that the hub could not read within 2 s. */
const TOO_SLOW = 409

/** The pending certificates of a project, to accept or reject several at once, and the result of a bulk action. */
export function PendingPage() {
  const { projectId } = useParams({ from: ROUTE })
  return <Pending key={projectId} projectId={projectId} />
}

function Pending({ projectId }: { projectId: string }) {
  const { organization } = useParams({ from: ROUTE })
  const [{ q = '', by, result }, changeSearch] = usePageSearch(pendingSearch)
  const queryClient = useQueryClient()
  const list = usePendingList(projectId, by, q.trim())
  const selection = useSelectedCertificates(list)
  const leaving = useLeavingRows(list.certificates, `${by} ${q}`)
  const { preview, start, busy } = useBulkRun(projectId)
  const [shown, setShown] = useState<BulkPreview>()
  const bulk = useCurrentBulk(projectId)
  useSendOnLeave(sendBulk, projectId)
  useShortcut('z', 'Undo the decision', () => {
    if (bulk?.state !== 'waiting') return false
    closeBulk()
  })
  const { certificates, total, deviceTotal, newerCount } = list
  const { selected } = selection
  const place = { organization, projectId }

  // If the first load failed, the route's error page is shown, with two exceptions. A filter text may be the cause, and the user can
  // remove it. If the hub was too slow, the user can add a filter text, which makes the query faster.
  const isTooSlow = list.error instanceof ActionError && list.error.status === TOO_SLOW
  if (list.error && !list.data && !q && !isTooSlow) throw list.error

  useShortcut('x', 'Select the row', () => selectFocused(false))
  useShortcut('X', 'Select the rows up to this one', () => selectFocused(true))
  useShortcut('Escape', 'Clear the selection', () => {
    if (selected.size === 0) return false
    selection.clear()
  })

  function selectFocused(isRange: boolean) {
    const row = document.activeElement?.closest<HTMLElement>('tr[data-certificate]')
    const certificate = certificates.find(one => one.certificateId === row?.dataset.certificate)
    if (!certificate) return false
    selection.toggle(certificate, isRange)
  }
  async function act(kind: 'Accept' | 'Reject', certificateIds: string[]) {
    start.reset()
    leaving.setOwn(true)
    try {
      const made = await preview.mutateAsync({ kind, selection: { kind: 'certificates', certificateIds } })
      // Up to 200 certificates are decided without a confirmation, because their rows are on screen. For more, a dialog asks for one. The
      // dialog also says when there is nothing to decide.
      if (certificateIds.length > MAX_INLINE || made.itemCount === 0) setShown(made)
      else await run(made)
    } catch (error) {
      toastError(`Could not ${kind.toLowerCase()}`, error)
    } finally {
      leaving.setOwn(false)
    }
  }
  async function run(made: BulkPreview) {
    if (isHeldBulk(made)) {
      setShown(undefined)
      holdBulk(queryClient, { projectId, preview: made })
      return
    }
    leaving.setOwn(true)
    const bulkActionId = await start.mutateAsync(made).finally(() => leaving.setOwn(false))
    setShown(undefined)
    showResult(bulkActionId)
  }
  function showResult(bulkActionId: string) {
    selection.clear()
    changeSearch({ result: bulkActionId })
    scrollTo({ top: 0 })
    announce('Done. The result is at the top of the page.')
  }
  // A held bulk action has started: its result is shown here, and not in the list of devices.
  const startedId = bulk?.state === 'started' ? bulk.bulkActionId : undefined
  const isSent = bulk?.state === 'sent'
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the bulk action is sent or has started
  useEffect(() => {
    leaving.setOwn(isSent || startedId !== undefined)
    if (startedId === undefined) return
    closeBulk()
    showResult(startedId)
  }, [isSent, startedId])
  const again = ({ certificateId }: BulkItem) => certificateId && void act('Accept', [certificateId])
  const close = () => {
    changeSearch({ result: undefined })
    focusHeading()
  }

  const held = bulk?.state === 'started' ? undefined : bulk
  const isNothingListed = list.isUncounted && certificates.length === 0 && !list.hasNextPage
  const isEmpty = (total === 0 || isNothingListed) && !q && !list.isPlaceholderData
  const table = (
    <>
      <div className="sheet">
        <PendingTable
          list={list}
          rows={leaving.rows}
          leavingIds={leaving.leavingIds}
          grouping={by}
          selection={selection}
          place={place}
          isBusy={!list.data || list.isPlaceholderData}
        >
          {!list.data && !list.error ? (
            <SkeletonRows columns={COLUMNS} />
          ) : !list.data ? (
            <tr>
              <td colSpan={COLUMNS}>
                <span className="muted">Not loaded.</span>
              </td>
            </tr>
          ) : certificates.length === 0 ? (
            <tr>
              <td colSpan={COLUMNS}>
                <NoMatch what="pending certificates" onClear={() => changeSearch({ q: undefined })} />
              </td>
            </tr>
          ) : undefined}
        </PendingTable>
      </div>
      {(selected.size > 0 || held) && (
        <PendingBar
          held={held}
          selected={selected}
          certificates={certificates}
          total={total ?? 0}
          busy={busy === 'Accept' || busy === 'Reject' ? busy : undefined}
          isAsking={selection.isAsking}
          onAll={() =>
            void selection.toggleMany(
              certificates.map(({ certificateId }) => certificateId),
              total ?? 0,
              true,
            )
          }
          onAct={kind => void act(kind, [...selected])}
          onClear={selection.clear}
        />
      )}
      <div className="list-foot">
        <span>
          {list.isUncounted
            ? `${counted(certificates.length, 'certificate')} shown, – in all: counting took longer than 2 s`
            : total === undefined
              ? counted(certificates.length, 'certificate')
              : certificates.length < total
                ? `${formatCount(certificates.length)} of ${counted(total, 'certificate')}`
                : totalWords(total, deviceTotal ?? 0)}
        </span>
        {list.hasNextPage && (
          <Button
            busy={list.isFetchingNextPage}
            busyLabel="Loading…"
            onClick={() => void list.fetchNextPage()}
          >
            Load more
          </Button>
        )}
        <span className="grow" />
        <span className="hidden-on-phones" aria-hidden="true">
          <kbd>j</kbd> <kbd>k</kbd> move <kbd>Enter</kbd> open <kbd>x</kbd> select <kbd>a</kbd> actions{' '}
          <kbd>?</kbd> all keys
        </span>
      </div>
    </>
  )

  return (
    <Page width="list">
      <Breadcrumb
        links={[
          <Link key="devices" to="/org_{$organization}/projects/$projectId/devices" params={place}>
            Devices
          </Link>,
        ]}
        here="Pending certificates"
      />
      <PageHead title="Pending certificates" count={total}>
        {newerCount > 0 && (
          <HeadNotice>
            <Button onClick={list.showNewer}>{formatCount(newerCount)} new, show</Button>
          </HeadNotice>
        )}
        {list.data && <LiveStamp updatedAt={list.dataUpdatedAt} failedAt={list.errorUpdatedAt} />}
        <RefreshButton
          onRefresh={() => {
            list.showNewer()
            return invalidateActions(queryClient, ['devices_GetBulkAction', 'devices_QueryBulkActionItems'])
          }}
        />
      </PageHead>
      {result && <BulkResult key={result} {...place} bulkActionId={result} onClose={close} onAgain={again} />}
      {isEmpty ? (
        <EmptyState
          icon={ShieldCheck}
          title="No pending certificates."
          action={
            <LinkButton to="/org_{$organization}/projects/$projectId/devices" params={place}>
              Devices
            </LinkButton>
          }
        />
      ) : (
        <>
          {result ? (
            <h2 className={styles.stillPending}>
              Still pending{total !== undefined && `, ${counted(total, 'certificate')}`}
            </h2>
          ) : (
            <p className={styles.lede}>
              A device connects only with an accepted certificate. Compare the fingerprint with the one on the
              device where you can.
            </p>
          )}
          {(!result || q) && (
            <div className={`tools ${styles.tools}`}>
              <FilterBox
                value={q}
                onChange={next => changeSearch({ q: next })}
                label="Filter pending certificates"
                placeholder="Filter by token, address, host name or fingerprint"
              />
              <span className="match hidden-on-phones" role="status">
                {list.isUncounted
                  ? '– certificates: counting took longer than 2 s'
                  : total === undefined
                    ? 'Counting…'
                    : totalWords(total, deviceTotal ?? 0)}
              </span>
              <span className="grow hidden-on-phones" />
              <label className={`row muted ${styles.groupBy}`}>
                <span>Group by</span>
                <select
                  className="input"
                  value={by}
                  onChange={event => changeSearch({ by: event.target.value })}
                >
                  {Object.entries(GROUPINGS).map(([value, label]) => (
                    <option key={value} value={value}>
                      {label}
                    </option>
                  ))}
                </select>
              </label>
            </div>
          )}
          <ErrorAlert title="Could not load pending certificates." error={list.error} />
          {table}
        </>
      )}
      {shown && (
        <BulkPreviewDialog
          preview={shown}
          busy={start.isPending}
          error={start.error}
          onStart={() => void run(shown).catch(() => {})}
          onClose={() => setShown(undefined)}
        />
      )}
    </Page>
  )
}
