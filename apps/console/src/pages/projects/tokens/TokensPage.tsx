import { getRouteApi } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { useActionPages } from '../../../api/queries.ts'
import { anyText, usePageSearch } from '../../../lib/app/search.ts'
import { CreateButton } from '../../../ui/app/CreateButton.tsx'
import { EmptyState } from '../../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../../ui/app/FilterBox.tsx'
import { ListPage } from '../../../ui/app/ListPage.tsx'
import { NoMatch } from '../../../ui/app/NoMatch.tsx'
import { Table } from '../../../ui/lazy/Table.tsx'
import { NewTokenDialog } from './NewTokenDialog.tsx'
import { TokenLabelsDialog } from './TokenLabelsDialog.tsx'
import { TokenLimitsDialog } from './TokenLimitsDialog.tsx'
import { TOKEN_COLUMNS, TokenRow } from './TokenRow.tsx'
import styles from './TokensPage.module.css'
import { tokensInput } from './tokens-input.ts'
import { useTokenCounts } from './use-token-counts.ts'

/** Minimum number of tokens for a filter box above the list. */
const FILTER_FROM = 8

/** Search parameters of the list of deployment tokens. */
export const tokensSearch = { q: anyText }

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/tokens')

/** The deployment tokens of a project, with which its devices enrol. */
export function TokensPage() {
  const { projectId } = route.useParams()
  const [{ q }, change] = usePageSearch(tokensSearch)
  const [isCreating, setCreating] = useState(false)
  const [limitedId, setLimitedId] = useState<string>()
  const [labelledId, setLabelledId] = useState<string>()
  const list = useActionPages('projects_QueryDeploymentTokens', tokensInput(projectId, q))
  const tokens = list.data?.pages.flatMap(page => page.tokens)
  const counts = useTokenCounts(projectId, tokens ?? [])
  const limited = tokens?.find(({ tokenId }) => tokenId === limitedId)
  const labelled = tokens?.find(({ tokenId }) => tokenId === labelledId)
  const total = list.data?.pages[0]?.total
  // While the list for another filter text loads, the filter box stays, because the user may be typing in it.
  const isFiltered = q !== undefined || list.isPlaceholderData
  const isEmpty = tokens?.length === 0 && !isFiltered
  const createButton = <CreateButton onClick={() => setCreating(true)}>New Token</CreateButton>
  return (
    <ListPage
      title="Tokens"
      what="tokens"
      list={list}
      shown={tokens?.length}
      actions={
        <>
          {(isFiltered || (total ?? 0) >= FILTER_FROM) && (
            <FilterBox
              value={q ?? ''}
              onChange={value => change({ q: value })}
              label="Filter tokens"
              placeholder="Filter by name or id"
            />
          )}
          {!isEmpty && createButton}
        </>
      }
      below={
        <>
          {isCreating && <NewTokenDialog projectId={projectId} onClose={() => setCreating(false)} />}
          {limited && <TokenLimitsDialog token={limited} onClose={() => setLimitedId(undefined)} />}
          {labelled && (
            <TokenLabelsDialog
              projectId={projectId}
              token={labelled}
              onClose={() => setLabelledId(undefined)}
            />
          )}
        </>
      }
    >
      {isEmpty ? (
        <EmptyState icon={KeyRound} title="Create a token to connect devices" action={createButton}>
          A device shows a deployment token on its first connection to join this project.
        </EmptyState>
      ) : (
        <>
          <Table
            caption="Deployment tokens"
            columns={TOKEN_COLUMNS}
            bars={5}
            rows={tokens?.map(token => (
              <TokenRow
                key={token.tokenId}
                token={token}
                counts={counts.get(token.tokenId)!}
                onLimit={() => setLimitedId(token.tokenId)}
                onLabel={() => setLabelledId(token.tokenId)}
              />
            ))}
            none={<NoMatch what="tokens" onClear={() => change({ q: '' })} />}
          />
          {tokens && (
            <p className={`help break-anywhere ${styles.note}`}>
              A token lets new devices enrol. When it expires, new devices are refused. Deleting it also
              disconnects the devices that are connected with it.
            </p>
          )}
        </>
      )}
    </ListPage>
  )
}
