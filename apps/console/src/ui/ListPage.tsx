import type { ReactNode } from 'react'
import { Alert } from './Alert.tsx'
import { ErrorText } from './ErrorText.tsx'
import { LiveStamp } from './LiveStamp.tsx'
import { LoadMore } from './LoadMore.tsx'
import { Page, PageHead } from './Page.tsx'
import { RefreshButton } from './RefreshButton.tsx'

/** Where a list that grows page by page stands; a list of `useActionPages` is one. */
type ListState = {
  data: unknown
  dataUpdatedAt: number
  error: Error | null
  errorUpdatedAt: number
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => Promise<unknown>
  refetch: () => Promise<unknown>
}

type ListPageProps = {
  /** Where the page stands, above its heading. */
  crumb?: ReactNode
  title: string
  /** Plural of the things, in lower case, for example "users". */
  what: string
  list: ListState
  /** Number of rows on screen. */
  shown: number | undefined
  total?: number | undefined
  /** Buttons at the end of the head. */
  actions?: ReactNode
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
  total,
  actions,
  below,
  width = 'list',
  children,
}: ListPageProps) {
  // With nothing to show the route's panel says what went wrong.
  if (list.error && !list.data) throw list.error
  return (
    <Page width={width}>
      {crumb}
      <PageHead title={title} count={total}>
        {list.data !== undefined && (
          <LiveStamp updatedAt={list.dataUpdatedAt} failedAt={list.errorUpdatedAt} />
        )}
        <RefreshButton onRefresh={list.refetch} />
        {actions}
      </PageHead>
      {list.error && (
        <div style={{ marginBottom: 12 }}>
          <Alert tone="bad" title={`Could not load ${what}.`}>
            <ErrorText error={list.error} />
          </Alert>
        </div>
      )}
      {children}
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
