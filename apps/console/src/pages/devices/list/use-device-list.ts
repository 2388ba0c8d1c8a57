import { type ActionOutput, MAX_PAGE_SIZE } from '@muster/actions/client'
import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { actionPagesQuery } from '../../../api/queries.ts'
import type { Where } from '../predicate/read-where.ts'
import type { DeviceSearch } from '../shared/device-search.ts'
import { PAGE_SIZE } from './all-devices-input.ts'
import { devicesInput } from './devices-input.ts'
import { holdBack, upToItsEnd } from './hold-back.ts'

type ListPage = ActionOutput<'projects_QueryDevices'>

/** A row of the device list. */
export type DeviceRow = ListPage['devices'][number]

/**
 * The devices of a project in pages. A refresh refetches only the pages in view. Otherwise each device that connects
 * would cause one request per loaded page.
 */
export function useDeviceList(
  projectId: string,
  search: DeviceSearch,
  where: Where['filter'] | undefined,
  columns: readonly string[],
  isEnabled: boolean,
  onMove: (cursor: string) => void,
) {
  const queryClient = useQueryClient()
  const input = devicesInput(projectId, search, where, columns)
  const base = actionPagesQuery('projects_QueryDevices', input)
  // The cursor in the URL follows the page in view. The list starts at this cursor only if the page is opened with a
  // cursor that is not in the cache.
  const [start, setStart] = useState(() => {
    const { cursor = '' } = search
    return queryClient.getQueryData(base.queryKey)?.pageParams.includes(cursor) ? '' : cursor
  })
  if (start !== '' && search.cursor === undefined) setStart('')
  const options = start
    ? {
        ...base,
        queryKey: [...base.queryKey, start] as unknown as typeof base.queryKey,
        initialPageParam: start,
      }
    : base
  const list = JSON.stringify(options.queryKey)
  const view = useRef({ first: 0, last: 0 })
  const position = useRef(0)
  const moving = useRef<ReturnType<typeof setTimeout>>(undefined)
  const missed = useRef(new Set<number>())

  const query = useInfiniteQuery({
    ...options,
    enabled: isEnabled,
    placeholderData: (previous: InfiniteData<ListPage, string> | undefined) => previous,
    queryFn: async context => {
      const { pageParam: cursor } = context
      const pages = queryClient.getQueryData(options.queryKey)?.pages ?? []
      // A refresh calls this function again for every loaded page, beginning with the first. A request for a new page is
      // recognized by its cursor, which equals the `nextCursor` of the last loaded page.
      const isFurther = cursor !== start && cursor === pages.at(-1)?.nextCursor
      position.current = cursor === start ? 0 : isFurther ? pages.length : position.current + 1

      const at = position.current
      const known = pages[at]
      if (known && (at < view.current.first || at > view.current.last)) {
        missed.current.add(at)
        return known
      }
      const ask = (pageParam: string, other: Partial<typeof input>) =>
        (actionPagesQuery('projects_QueryDevices', { ...input, ...other }).queryFn as PageFetcher)({
          ...context,
          pageParam,
        })
      // New devices may have made the page longer than `PAGE_SIZE`, so its refetch needs a higher limit.
      const limit = Math.min(Math.max(PAGE_SIZE, known?.devices.length ?? 0), MAX_PAGE_SIZE)
      const answer = await ask(cursor, { limit })
      missed.current.delete(at)
      if (!known) return answer
      return upToItsEnd(known, answer, next => ask(next, { limit: MAX_PAGE_SIZE, countTotal: false }))
    },
  })
  const { data, isPlaceholderData, isFetching, hasNextPage, fetchNextPage, refetch } = query
  // A pending URL change and the page numbers in `missed` are invalid for another list.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the list changes
  useEffect(
    () => () => {
      clearTimeout(moving.current)
      missed.current.clear()
    },
    [list],
  )
  const all = useMemo(() => unique(data?.pages ?? []), [data])
  const [kept, setKept] = useState(() => rowsOf(list, all, NO_IDS))
  let rows = kept
  // The rows of the previous list stay until the first answer for the new list.
  if (rows.list !== list && !isPlaceholderData) rows = rowsOf(list, all, NO_IDS)
  else if (rows.all !== all) rows = rowsOf(rows.list, all, rows.shownIds)
  if (rows !== kept) setKept(rows)
  const { devices, held } = rows

  /**
   * Called with the indexes of the first and last row on screen. Refetches pages in view that have missed a refresh, and loads
   * the next page ahead.
   */
  function onView(firstRow: number, lastRow: number) {
    if (!data || isPlaceholderData) return
    const first = pageOf(data.pages, devices[firstRow])
    const last = pageOf(data.pages, devices[lastRow])
    view.current = { first, last }
    clearTimeout(moving.current)
    moving.current = setTimeout(() => onMove(String(data.pageParams[first] ?? '')), STILL_MS)
    if (isFetching) return
    const hasMissed = [...missed.current].some(page => page >= first && page <= last)
    if (hasMissed) void refetch()
    else if (hasNextPage && lastRow >= devices.length - AHEAD_ROWS) void fetchNextPage()
  }

  return {
    ...query,
    devices,
    total: totalOf(data?.pages ?? []),
    memberPaths: data?.pages[0]?.memberColumns ?? [],
    /** Number of new devices that are held back, because their place is above or between the rows. */
    heldCount: held.length,
    showHeld: () => setKept(rowsOf(rows.list, all, NO_IDS)),
    onView,
    input,
    startsAtFirst: start === '',
  }
}

const NO_IDS: ReadonlySet<string> = new Set()

/** The rows to show and to hold back, with the ids of all devices shown so far. */
function rowsOf(list: string, all: readonly DeviceRow[], shownIds: ReadonlySet<string>) {
  const { devices, held } = holdBack(all, shownIds)
  return { list, all, devices, held, shownIds: new Set([...shownIds, ...devices.map(row => row.deviceId)]) }
}

type PageFetcher = (context: { pageParam: string; signal: AbortSignal }) => Promise<ListPage>

/** Time without scrolling, in milliseconds, after which the cursor is written to the URL. Browsers limit how often the URL may change. */
const STILL_MS = 300

/** The next page is loaded when this number of rows is left below the last row in view. */
const AHEAD_ROWS = 25

function pageOf(pages: readonly ListPage[], row: DeviceRow | undefined): number {
  const index = pages.findIndex(page => page.devices.some(({ deviceId }) => deviceId === row?.deviceId))
  return index === -1 ? pages.length - 1 : index
}

/** Rows of all pages without duplicates: a device may move to another page between two answers. */
function unique(pages: readonly ListPage[]): DeviceRow[] {
  const rows = new Map<string, DeviceRow>()
  for (const page of pages) for (const row of page.devices) rows.set(row.deviceId, row)
  return [...rows.values()]
}

function totalOf(pages: readonly ListPage[]): number | undefined {
  return pages.findLast(page => page.total !== undefined)?.total
}
