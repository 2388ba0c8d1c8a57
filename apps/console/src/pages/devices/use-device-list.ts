import type { ActionOutput } from '@muster/actions/client'
import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useRef } from 'react'
import { actionPagesQuery } from '../../api/queries.ts'
import { type DeviceSearch, devicesInput } from './devices-input.ts'

type ListPage = ActionOutput<'projects_QueryDevices'>

/** One row of the device list. */
export type DeviceRow = ListPage['devices'][number]

/**
 * The devices of a project, page by page. A refresh asks again only for the pages in view: a list of thousands that was
 * scrolled to its end would otherwise cost a request a page whenever one device connects.
 */
export function useDeviceList(projectId: string, search: DeviceSearch) {
  const queryClient = useQueryClient()
  const options = actionPagesQuery('projects_QueryDevices', devicesInput(projectId, search))
  const list = JSON.stringify(options.queryKey)
  const view = useRef({ first: 0, last: 0 })
  const position = useRef(0)
  const missed = useRef({ list, pages: new Set<number>() })
  if (missed.current.list !== list) missed.current = { list, pages: new Set() }

  const query = useInfiniteQuery({
    ...options,
    placeholderData: (previous: InfiniteData<ListPage, string> | undefined) => previous,
    queryFn: async context => {
      const { pageParam: cursor } = context
      const pages = queryClient.getQueryData(options.queryKey)?.pages ?? []
      // A refresh walks all pages from the first one; only a further page follows the last one's cursor.
      const isFurther = cursor !== '' && cursor === pages.at(-1)?.nextCursor
      position.current = cursor === '' ? 0 : isFurther ? pages.length : position.current + 1

      const at = position.current
      const known = pages[at]
      if (known && (at < view.current.first || at > view.current.last)) {
        missed.current.pages.add(at)
        return known
      }
      const answer = await (options.queryFn as PageFetcher)(context)
      missed.current.pages.delete(at)
      return answer
    },
  })
  const { data, isPlaceholderData, isFetching, hasNextPage, fetchNextPage, refetch } = query
  const devices = useMemo(() => unique(data?.pages ?? []), [data])

  /** Tells which rows are on screen: pages that have missed a refresh are asked again, the next one is asked ahead. */
  function onView(firstRow: number, lastRow: number) {
    if (!data || isPlaceholderData) return
    const { first, last } = { first: pageOf(data.pages, firstRow), last: pageOf(data.pages, lastRow) }
    view.current = { first, last }
    if (isFetching) return
    const hasMissed = [...missed.current.pages].some(page => page >= first && page <= last)
    if (hasMissed) void refetch()
    else if (hasNextPage && lastRow >= devices.length - AHEAD_ROWS) void fetchNextPage()
  }

  return { ...query, devices, total: totalOf(data?.pages ?? []), onView }
}

type PageFetcher = (context: { pageParam: string; signal: AbortSignal }) => Promise<ListPage>

/** Rows before the end at which the next page is asked for. */
const AHEAD_ROWS = 40

function pageOf(pages: readonly ListPage[], row: number): number {
  let rest = row
  const index = pages.findIndex(page => {
    rest -= page.devices.length
    return rest < 0
  })
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
