import { useSearch } from '@tanstack/react-router'
import { createContext, type ReactNode, useState } from 'react'
import { ErrorAlert } from './Alert.tsx'
import { Button } from './Button.tsx'
import { LiveStamp } from './LiveStamp.tsx'
import { LoadMore } from './LoadMore.tsx'
import { Page, PageHead } from './Page.tsx'
import { RefreshButton } from './RefreshButton.tsx'

/** Where a list that grows page by page stands; a list of `useActionPages` is one. */
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

/** Whether the list of the page could not be loaded, so that there are neither rows nor any to wait for. */
export const ListFailed = createContext(false)

type ListPageProps = {
  /** Where the page stands, above its heading. */
  crumb?: ReactNode
  title: string
  /** Plural of the things, in lower case, for example "users". */
  what: string
  list: ListState
  /** Number of rows on screen. */
  shown: number | undefined
  /** Buttons at the end of the head. */
  actions?: ReactNode
  /** How old the page is, where it shows more than the list. */
  stamp?: ReactNode
  /** Further parts of the page. */
  below?: ReactNode
  /** Pages without a sidebar stand centred. */
  width?: 'list' | 'grid'
  /** The tools, then the table or what stands in its place. */
  children: ReactNode
}

/** A page that is one list: its age, refresh, what a failed refresh leaves, and the way to further rows. */
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
  // With nothing to show the route's panel says what went wrong, unless a filter or an order is to blame: those can be taken back.
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
