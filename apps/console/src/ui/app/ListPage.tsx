import { useSearch } from '@tanstack/react-router'
import { createContext, type ReactNode, useState } from 'react'
import { ErrorAlert } from '../Alert.tsx'
import { Button } from '../Button.tsx'
import { LiveStamp } from './LiveStamp.tsx'
import { LoadMore } from './LoadMore.tsx'
import { Page, PageHead } from './Page.tsx'
import { RefreshButton } from './RefreshButton.tsx'

/** State of a paged list, as `useActionPages` returns it. */
type ListState = {
  data: { pages: readonly { total?: number | undefined }[] } | undefined
  dataUpdatedAt: number
  error: Error | null
  errorUpdatedAt: number
  isPlaceholderData: boolean
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => Promise<unknown>
  refetch: () => Promise<unknown>
}

/** Whether the first load of the page's list failed. */
export const ListFailed = createContext(false)

type ListPageProps = {
  /** Breadcrumb above the heading. */
  crumb?: ReactNode
  /** Title of the page; `undefined` while it loads. */
  title: string | undefined
  /** Plural noun for the listed entities, in lower case, for example "users". */
  what: string
  list: ListState
  /** Number of rows on screen. */
  shown: number | undefined
  /** Buttons at the end of the head. */
  actions?: ReactNode
  /** Replacement for the list's own time of the last refresh, on pages that show more than the list. */
  stamp?: ReactNode
  /** Content below the list. */
  below?: ReactNode
  /** Layout: `list` (default) is wide, and `grid` is centred, for pages without a sidebar. */
  width?: 'list' | 'grid'
  /** Filters, then the table or an empty state. */
  children: ReactNode
}

/**
 * Page with one list. Shows the time of the last refresh, a refresh button, errors of a refresh and a button that loads
 * more rows.
 */
export function ListPage({
  crumb,
  title,
  what,
  list,
  shown = 0,
  actions,
  stamp,
  below,
  width = 'list',
  children,
}: ListPageProps) {
  const search = useSearch({ strict: false })
  const total = list.data?.pages[0]?.total
  const [wasThere, setWasThere] = useState(false)
  if (list.data && !wasThere) setWasThere(true)
  const isFailed = list.error !== null && !list.data
  // If the first load failed, the route's error page is shown. With search parameters the page stays instead, because
  // the user can undo the filter or sort order that caused the error.
  if (isFailed && !wasThere && !Object.values(search).some(Boolean)) throw list.error
  return (
    <Page width={width}>
      {crumb}
      <PageHead title={title} count={total} isCounting={list.data === undefined && !isFailed}>
        {stamp ?? (
          <LiveStamp
            updatedAt={list.dataUpdatedAt}
            {...(list.data !== undefined && { failedAt: list.errorUpdatedAt })}
          />
        )}
        <RefreshButton onRefresh={list.refetch} />
        {actions}
      </PageHead>
      <ErrorAlert
        title={`Could not load ${what}.`}
        error={list.error}
        action={
          isFailed && (
            <Button size="sm" onClick={() => void list.refetch()}>
              Try again
            </Button>
          )
        }
      />
      <ListFailed value={isFailed}>{children}</ListFailed>
      {list.hasNextPage && (
        <LoadMore
          shown={shown}
          total={total}
          what={what}
          busy={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        />
      )}
      {below}
    </Page>
  )
}
