import { ActionError, type ActionOutput, MAX_PROPERTY_CONDITIONS } from '@muster/actions/client'
import { useQueryClient } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { ListFilterPlus } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { invalidateActions, useActionState } from '../../../api/queries.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { useChangeSearch } from '../../../lib/app/search.ts'
import { focusHeading } from '../../../lib/focus-heading.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { CreateButton } from '../../../ui/app/CreateButton.tsx'
import { ExportMenu } from '../../../ui/app/ExportMenu.tsx'
import { FilterBox } from '../../../ui/app/FilterBox.tsx'
import { LiveStamp } from '../../../ui/app/LiveStamp.tsx'
import { NoMatch } from '../../../ui/app/NoMatch.tsx'
import { Page, PageHead } from '../../../ui/app/Page.tsx'
import { RefreshButton } from '../../../ui/app/RefreshButton.tsx'
import { type SegmentOption, Segments } from '../../../ui/app/Segments.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import { ErrorText } from '../../../ui/ErrorText.tsx'
import { SkeletonRows } from '../../../ui/Skeleton.tsx'
import { ConnectDeviceDialog } from '../connect/ConnectDeviceDialog.tsx'
import { InstallGuide } from '../connect/InstallGuide.tsx'
import { DeletingNotice } from '../deleting/DeletingNotice.tsx'
import { ConditionDialog } from './ConditionDialog.tsx'
import { Conditions } from './Conditions.tsx'
import { type Condition, parseConditions, writeConditions } from './conditions.ts'
import { COLUMNS, DeviceTable } from './DeviceTable.tsx'
import { type Attention, type DeviceSearch, devicesInput, sortOf } from './devices-input.ts'
import { FleetSummary } from './FleetSummary.tsx'
import { useDeviceList } from './use-device-list.ts'

const ROUTE = '/authenticated/org_{$organization}/projects/$projectId/devices'
/**
 * Maximum number of bins to request. A bin is a group of neighbouring devices that `FleetSummary` shows as one mark in its row of
 * marks. `FleetSummary` merges bins if the row is too narrow for all of them.
 */
const MAX_BINS = 200

type Status = NonNullable<DeviceSearch['status']>

/** The devices of a project, filtered, sorted and paged by the hub and updated by the live stream. */
export function DevicesPage() {
  const { projectId } = useParams({ from: ROUTE })
  return <Devices key={projectId} projectId={projectId} />
}

function Devices({ projectId }: { projectId: string }) {
  const queryClient = useQueryClient()
  const search = useSearch({ from: ROUTE })
  const changeSearch = useChangeSearch<DeviceSearch>()
  const list = useDeviceList(projectId, search, cursor => {
    if (cursor !== (search.cursor ?? '')) changeSearch({ cursor })
  })
  const summary = useActionState('projects_GetSummary', { projectId, maxBins: MAX_BINS }).data
  const [isConnecting, setConnecting] = useState(false)
  const [isGuided, setGuided] = useState(false)
  const [isAddingCondition, setAddingCondition] = useState(false)

  // Removes an invalid cursor from the URL, for example the cursor of another sort order. The list then starts at its first
  // device.
  const isLost = !list.startsAtFirst && !list.data && isRefused(list.error)
  useEffect(() => {
    if (isLost) changeSearch({ cursor: undefined })
  })
  // If the first load failed, the route's error page is shown. With search parameters the page stays instead, because
  // the user can undo the filter or order that caused the error.
  if (list.error && !list.data && !isLost && !Object.values(search).some(Boolean)) throw list.error

  const conditions = parseConditions(search.where)
  const isSearched = Boolean(search.q?.trim() || search.show || conditions.length > 0)
  const isFiltered = isSearched || search.status !== undefined
  const isEmpty = list.total === 0 && !isFiltered && !list.isPlaceholderData
  const deviceCount = summary?.deviceCount ?? (isFiltered ? undefined : list.total)
  const total = list.total ?? (isSearched ? undefined : countOf(summary, search.status))

  // A cursor is valid for one filter and order only, so a new filter or order removes it and starts at the first page.
  const change = (next: { [Name in keyof DeviceSearch]?: string | undefined }) =>
    changeSearch({ cursor: undefined, ...next })

  const changeConditions = (next: readonly Condition[]) => change({ where: writeConditions(next) })

  return (
    <Page width="list">
      <PageHead title="Devices" count={deviceCount}>
        {/* The notice of new devices is in the head, because above the table it would move the rows. */}
        {list.heldCount > 0 && (
          <div className="arrived">
            <Button
              onClick={() => {
                list.showHeld()
                scrollTo({ top: 0 })
                focusHeading()
              }}
            >
              {counted(list.heldCount, 'new device')}, show
            </Button>
          </div>
        )}
        {list.data && <LiveStamp updatedAt={list.dataUpdatedAt} failedAt={list.errorUpdatedAt} />}
        <RefreshButton
          onRefresh={() => invalidateActions(queryClient, ['projects_QueryDevices', 'projects_GetSummary'])}
        />
        <CreateButton variant="secondary" iconOnPhones onClick={() => setConnecting(true)}>
          Connect a device
        </CreateButton>
      </PageHead>
      <DeletingNotice projectId={projectId} shownIds={list.devices.map(({ deviceId }) => deviceId)} />
      {isConnecting && <ConnectDeviceDialog projectId={projectId} onClose={() => setConnecting(false)} />}
      {isEmpty || isGuided ? (
        <InstallGuide projectId={projectId} onHold={setGuided} />
      ) : (
        <>
          {summary && <FleetSummary summary={summary} />}
          {list.error && !isLost && (
            <Alert
              tone="bad"
              title="Could not load devices."
              action={
                !list.data && (
                  <Button size="sm" onClick={() => void list.refetch()}>
                    Try again
                  </Button>
                )
              }
            >
              <ErrorText error={list.error} />
              {list.data && (
                <>
                  {' '}
                  The rows below were answered <Time at={new Date(list.dataUpdatedAt).toISOString()} />.
                </>
              )}
            </Alert>
          )}
          <div className="tools">
            <FilterBox
              value={search.q ?? ''}
              onChange={q => change({ q })}
              label="Filter devices"
              placeholder="Filter by name, host name or id"
            />
            <Button
              variant="ghost"
              icon={ListFilterPlus}
              disabled={conditions.length >= MAX_PROPERTY_CONDITIONS}
              onClick={() => setAddingCondition(true)}
            >
              Add a condition
            </Button>
            <Matches total={total} of={deviceCount} />
            <span className="grow" />
            <ExportMenu
              variant="ghost"
              action="projects_QueryDevices"
              input={{ ...devicesInput(projectId, search), countTotal: false }}
            />
          </div>
          <div className="tools">
            <Segments
              label="Status"
              value={search.status ?? 'all'}
              options={segmentsOf(summary)}
              onChange={status => change({ status: status === 'all' ? undefined : status })}
            />
            <Segments
              label="Needs attention"
              value={search.show ?? 'all'}
              options={attentionOptions(summary)}
              onChange={show => change({ show: show === 'all' ? undefined : show })}
            />
          </div>
          <Conditions conditions={conditions} onChange={changeConditions} />
          {isAddingCondition && (
            <ConditionDialog
              onClose={() => setAddingCondition(false)}
              onAdd={condition => {
                setAddingCondition(false)
                changeConditions([...conditions, condition])
              }}
            />
          )}
          {!list.startsAtFirst && (
            <div className="tools">
              <span className="t2">The list starts further down.</span>
              <Button size="sm" onClick={() => change({})}>
                From the first device
              </Button>
            </div>
          )}
          <div className="sheet">
            <DeviceTable
              devices={list.devices}
              total={total === undefined ? undefined : total - list.heldCount}
              isFromFirst={list.startsAtFirst}
              sort={sortOf(search)}
              onSort={sort => change({ sort })}
              onView={list.onView}
              isBusy={(!list.data && !list.error) || list.isPlaceholderData}
            >
              {insteadOfRows(list, isLost, () =>
                change({ q: undefined, status: undefined, show: undefined, where: undefined }),
              )}
            </DeviceTable>
          </div>
          {list.isFetchingNextPage && (
            <div className="tfoot">
              <span>Loading more…</span>
            </div>
          )}
        </>
      )}
    </Page>
  )
}

/** How many devices match the filter: "12 of 1,284 devices". */
function Matches({ total, of }: { total: number | undefined; of: number | undefined }) {
  if (total === undefined) return <span className="match">Counting…</span>
  if (of === undefined || of === total) return <span className="match">{counted(total, 'device')}</span>
  return (
    <span className="match">
      <b>{formatCount(total)}</b> of {counted(of, 'device')}
    </span>
  )
}

function isRefused(error: Error | null): boolean {
  return error instanceof ActionError && error.kind === 'Invalid'
}

function insteadOfRows(
  list: ReturnType<typeof useDeviceList>,
  isLost: boolean,
  onClear: () => void,
): ReactNode {
  if (!list.data && (!list.error || isLost)) return <SkeletonRows columns={COLUMNS} />
  if (list.devices.length > 0) return undefined
  return (
    <tr>
      <td colSpan={COLUMNS}>
        {list.data ? (
          <NoMatch what="devices" onClear={onClear} />
        ) : (
          <span className="muted">Not loaded.</span>
        )}
      </td>
    </tr>
  )
}

type Summary =
  | Pick<
      ActionOutput<'projects_GetSummary'>,
      'deviceCount' | 'connectedCount' | 'pendingCount' | 'warningCount' | 'errorCount'
    >
  | undefined

function attentionOptions(summary: Summary): SegmentOption<Attention | 'all'>[] {
  return [
    { value: 'all', label: 'Any health' },
    { value: 'warning', label: 'Warning', count: summary?.warningCount, mark: 'warning' },
    { value: 'error', label: 'Error', count: summary?.errorCount, mark: 'error' },
    { value: 'updateFailed', label: 'Update failed' },
    { value: 'offlineLong', label: 'Offline for more than 24 h' },
    { value: 'neverUpdated', label: 'Never updated' },
  ]
}

function segmentsOf(summary: Summary): SegmentOption<Status | 'all'>[] {
  return [
    { value: 'all', label: 'All', count: countOf(summary, undefined) },
    { value: 'connected', label: 'Connected', count: countOf(summary, 'connected'), mark: 'on' },
    { value: 'disconnected', label: 'Disconnected', count: countOf(summary, 'disconnected'), mark: 'off' },
    { value: 'pending', label: 'Pending', count: countOf(summary, 'pending'), mark: 'pending' },
  ]
}

function countOf(summary: Summary, status: Status | undefined): number | undefined {
  if (!summary) return undefined
  const { deviceCount, connectedCount, pendingCount } = summary
  const disconnected = deviceCount - connectedCount
  const counts = { all: deviceCount, connected: connectedCount, disconnected, pending: pendingCount }
  return counts[status ?? 'all']
}
