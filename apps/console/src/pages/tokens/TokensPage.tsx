import { getRouteApi } from '@tanstack/react-router'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { useActionPages } from '../../api/queries.ts'
import { useDebounced } from '../../lib/use-debounced.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Page, PageHead } from '../../ui/Page.tsx'
import { RouteError } from '../../ui/RouteError.tsx'
import { SearchBox } from '../../ui/SearchBox.tsx'
import { NewTokenDialog } from './NewTokenDialog.tsx'
import { TokenRow } from './TokenRow.tsx'
import { tokensInput } from './tokens-input.ts'

const FILTER_FROM = 8

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/tokens')

/** Deployment tokens of a project, with which its devices enrol. */
export function TokensPage() {
  const { projectId } = route.useParams()
  const [isCreating, setCreating] = useState(false)
  const [filter, setFilter] = useState('')
  const text = useDebounced(filter.trim())
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useActionPages(
    'projects_QueryDeploymentTokens',
    { ...tokensInput(projectId), ...(text && { filter: { text } }) },
  )

  if (error && !data) return <RouteError error={error} reset={() => void refetch()} />
  const tokens = data?.pages.flatMap(page => page.tokens)
  const total = data?.pages[0]?.total ?? tokens?.length
  const isFiltered = filter !== '' || text !== ''
  const isEmpty = tokens?.length === 0 && !isFiltered
  const createButton = (
    <Button variant="primary" icon={Plus} onClick={() => setCreating(true)}>
      New Token
    </Button>
  )
  return (
    <Page width="list">
      <PageHead title="Tokens" count={total}>
        {(isFiltered || (total ?? 0) >= FILTER_FROM) && (
          <SearchBox
            value={filter}
            onChange={setFilter}
            label="Filter tokens"
            placeholder="Filter by name or id"
          />
        )}
        {!isEmpty && createButton}
      </PageHead>
      {error && (
        <Alert tone="warn" title="The list could not be updated.">
          <ErrorText error={error} />
        </Alert>
      )}
      {isEmpty ? (
        <EmptyState icon={KeyRound} title="Create a token to connect devices" action={createButton}>
          A device shows a deployment token on its first connection to join this project.
        </EmptyState>
      ) : (
        <ListTable
          caption="Deployment tokens"
          what="tokens"
          columns={5}
          bars={4}
          head={HEAD}
          rows={tokens?.map(token => <TokenRow key={token.tokenId} token={token} />)}
          onClear={() => setFilter('')}
        />
      )}
      {hasNextPage && (
        <LoadMore
          shown={tokens?.length ?? 0}
          total={total}
          what="tokens"
          busy={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        />
      )}
      <NewTokenDialog projectId={projectId} open={isCreating} onClose={() => setCreating(false)} />
    </Page>
  )
}

const HEAD = (
  <tr>
    <th scope="col">Name</th>
    <th scope="col">Id</th>
    <th scope="col">Created At</th>
    <th scope="col">Auto-accept</th>
    <th scope="col">
      <span className="sr">Actions</span>
    </th>
  </tr>
)
