import { type ActionOutput, MAX_PAGE_SIZE } from '@muster/actions/client'
import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { actionPagesQuery } from '../../api/queries.ts'
import { PAGE_SIZE } from './all-devices-input.ts'
import { type DeviceSearch, devicesInput } from './devices-input.ts'
import { holdBack, upToItsEnd } from './held-devices.ts'

type ListPage = ActionOutput<'projects_QueryDevices'>

/** One row of the device list. */
export type DeviceRow = ListPage['devices'][number]

/**
 * The devices of a project, page by page. A refresh asks again only for the pages in view: a list of thousands that was
 * scrolled to its end would otherwise cost a request a page whenever one device connects.
 */
export function useDeviceList(projectId: string, search: DeviceSearch, onMove: (cursor: string) => void) {
  const queryClient = useQueryClient()
  const input = devicesInput(projectId, search)
  const base = actionPagesQuery('projects_QueryDevices', input)
  // The cursor in the address follows what is in view; only one that came with the address is where the list starts, unless that
  // place is still known from before.
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
  const missed = useRef({ list, pages: new Set<number>() })
  if (missed.current.list !== list) missed.current = { list, pages: new Set() }

  const query = useInfiniteQuery({
    ...options,
    placeholderData: (previous: InfiniteData<ListPage, string> | undefined) => previous,
    queryFn: async context => {
      const { pageParam: cursor } = context
      const pages = queryClient.getQueryData(options.queryKey)?.pages ?? []
      // A refresh walks all pages from the first one; only a further page follows the last one's cursor.
      const isFurther = cursor !== start && cursor === pages.at(-1)?.nextCursor
      position.current = cursor === start ? 0 : isFurther ? pages.length : position.current + 1

      const at = position.current
      const known = pages[at]
      if (known && (at < view.current.first || at > view.current.last)) {
        missed.current.pages.add(at)
        return known
      }
      const ask = (pageParam: string, other: Partial<typeof input>) =>
        (actionPagesQuery('projects_QueryDevices', { ...input, ...other }).queryFn as PageFetcher)({
          ...context,
          pageParam,
        })
      // A page that others have come into is longer than one that is asked for the first time.
      const limit = Math.min(Math.max(PAGE_SIZE, known?.devices.length ?? 0), MAX_PAGE_SIZE)
      const answer = await ask(cursor, { limit })
      missed.current.pages.delete(at)
      if (!known) return answer
      return upToItsEnd(known, answer, next => ask(next, { limit: MAX_PAGE_SIZE, countTotal: false }))
    },
  })
  const { data, isPlaceholderData, isFetching, hasNextPage, fetchNextPage, refetch } = query
  // A place in another list is none in this one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is when it ends
  useEffect(() => () => clearTimeout(moving.current), [list])
  const all = useMemo(() => unique(data?.pages ?? []), [data])
  const [shown, setShown] = useState({ list, ids: new Set<string>() })
  // The rows of the list before stand as they are until this one is there.
  if (shown.list !== list && !isPlaceholderData) setShown({ list, ids: new Set() })
  const { devices, held } = useMemo(() => {
    const rows = holdBack(all, shown.ids)
    for (const { deviceId } of rows.devices) shown.ids.add(deviceId)
    return rows
  }, [all, shown])

  /** Tells which rows are on screen: pages that have missed a refresh are asked again, the next one is asked ahead. */
  function onView(firstRow: number, lastRow: number) {
    if (!data || isPlaceholderData) return
    const first = pageOf(data.pages, devices[firstRow])
    const last = pageOf(data.pages, devices[lastRow])
    view.current = { first, last }
    clearTimeout(moving.current)
    moving.current = setTimeout(() => onMove(String(data.pageParams[first] ?? '')), STILL_MS)
    if (isFetching) return
    const hasMissed = [...missed.current.pages].some(page => page >= first && page <= last)
    if (hasMissed) void refetch()
    else if (hasNextPage && lastRow >= devices.length - AHEAD_ROWS) void fetchNextPage()
  }

  return {
    ...query,
    devices,
    total: totalOf(data?.pages ?? []),
    /** Devices that have arrived above or between the rows, and wait to be shown. */
    heldCount: held.length,
    showHeld: () => setShown({ ...shown, ids: new Set() }),
    onView,
    startsAtFirst: start === '',
  }
}

type PageFetcher = (context: { pageParam: string; signal: AbortSignal }) => Promise<ListPage>

/** How long a list stands still before its place counts; browsers bound how often an address may change. */
const STILL_MS = 300

/** Rows before the end at which the next page is asked for. */
const AHEAD_ROWS = 25

function pageOf(pages: readonly ListPage[], row: DeviceRow | undefined): number {
  const index = pages.findIndex(page => page.devices.some(({ deviceId }) => deviceId === row?.deviceId))
  return index === -1 ? pages.length - 1 : index
}

/** Rows of all pages; a device that moved between two answers stands in one place only. */
function unique(pages: readonly ListPage[]): DeviceRow[] {
  const rows = new Map<string, DeviceRow>()
  for (const page of pages) for (const row of page.devices) rows.set(row.deviceId, row)
  return [...rows.values()]
}

function totalOf(pages: readonly ListPage[]): number | undefined {
  return pages.findLast(page => page.total !== undefined)?.total
}
