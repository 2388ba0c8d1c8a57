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
  title: string
  /** Plural of the things, in lower case, for example "users". */
  what: string
  list: ListState
  /** Number of rows on screen. */
  shown: number | undefined
  /** Buttons at the end of the head. */
  actions?: ReactNode
  /** Age of the page, if it shows more than the list. */
  stamp?: ReactNode
  /** Further parts of the page. */
  below?: ReactNode
  /** `grid` centres pages without a sidebar. */
  width?: 'list' | 'grid'
  /** Filters, then the table or its replacement. */
  children: ReactNode
}

/** A page with one list: age, refresh button, errors of a refresh and the button for more rows. */
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
  // Without data the route's error page is shown. With search parameters the page stays, because the user can undo the
  // filter or order that caused the error.
  if (isFailed && !wasThere && !Object.values(search).some(Boolean)) throw list.error
  return (
    <Page width={width}>
      {crumb}
      <PageHead title={title} count={total}>
        {stamp ??
          (list.data !== undefined && (
            <LiveStamp updatedAt={list.dataUpdatedAt} failedAt={list.errorUpdatedAt} />
          ))}
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
