import type { ActionOutput } from '@muster/actions/client'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { useActionPages, useCommand } from '../../api/queries.ts'
import { useNow } from '../../lib/app/clock.ts'
import { useSession } from '../../session.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { Badge } from '../../ui/app/Badge.tsx'
import { CreateButton } from '../../ui/app/CreateButton.tsx'
import { DeleteTokenButton } from '../../ui/app/DeleteTokenButton.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { LoadMore } from '../../ui/app/LoadMore.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { Unnamed } from '../../ui/app/Unnamed.tsx'
import { Button } from '../../ui/Button.tsx'
import { ACTIONS, Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import { NewUserTokenDialog } from './NewUserTokenDialog.tsx'

const PAGE_SIZE = 100

/** Personal access tokens, with which scripts act on behalf of the user. */
export function TokensSection() {
  const { userId } = useSession()
  const [isCreating, setCreating] = useState(false)
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useActionPages(
    'users_QueryTokens',
    { userId, limit: PAGE_SIZE },
  )
  const tokens = data?.pages.flatMap(page => page.tokens)
  return (
    <Section
      title="Tokens"
      padded={false}
      aside={
        <CreateButton variant="secondary" onClick={() => setCreating(true)}>
          New Token
        </CreateButton>
      }
    >
      {error && (
        <div className="inset">
          <ErrorAlert
            title="Could not load tokens."
            error={error}
            action={
              <Button size="sm" onClick={() => void refetch()}>
                Try again
              </Button>
            }
          />
        </div>
      )}
      {tokens?.length === 0 && (
        <EmptyState bare icon={KeyRound} title="No tokens yet.">
          A token lets a script or a command line act as you.
        </EmptyState>
      )}
      {tokens?.length !== 0 && (tokens || !error) && (
        <Table
          caption="Tokens"
          columns={COLUMNS}
          bars={2}
          rows={tokens?.map(token => <TokenRow key={token.tokenId} {...token} />)}
          bare
        />
      )}
      {hasNextPage && (
        <div className="inset">
          <LoadMore
            shown={tokens?.length ?? 0}
            total={data?.pages[0]?.total}
            what="tokens"
            busy={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          />
        </div>
      )}
      {isCreating && <NewUserTokenDialog userId={userId} onClose={() => setCreating(false)} />}
    </Section>
  )
}

const COLUMNS: readonly Column[] = [
  { name: 'Name', kind: 'title' },
  { name: 'Id' },
  { name: 'Created At' },
  { name: 'Expires At' },
  { name: 'Last Used' },
  ACTIONS,
]

function TokenRow({
  tokenId,
  name: givenName,
  createdAt,
  expiresAt,
  lastUsedAt,
  lastUsedAddress,
}: ActionOutput<'users_QueryTokens'>['tokens'][number]) {
  const name = givenName ?? 'unnamed'
  const remove = useCommand('users_DeleteToken', { invalidates: ['users_QueryTokens'] })

  return (
    <Row>
      <Cell>
        <span className="lines">{givenName ?? <Unnamed />}</span>
      </Cell>
      <Cell>
        <Id id={tokenId} what="token id" />
      </Cell>
      <Cell>
        <Time at={createdAt} />
      </Cell>
      <Cell>{expiresAt ? <Expiry at={expiresAt} /> : <span className="muted">Never</span>}</Cell>
      <Cell>
        {lastUsedAt ? (
          <div className="pair">
            <Time at={lastUsedAt} />
            <span className="muted">{lastUsedAddress}</span>
          </div>
        ) : (
          <span className="muted">Never</span>
        )}
      </Cell>
      <Cell>
        <DeleteTokenButton
          name={name}
          isDeleting={remove.isPending}
          onDelete={() => remove.mutateAsync({ tokenId })}
        />
      </Cell>
    </Row>
  )
}

/** Expiry time of a token, marked once it has expired. */
function Expiry({ at }: { at: string }) {
  const isOver = Date.parse(at) <= useNow()
  return (
    <div className="pair">
      {isOver && <Badge tone="warn">Expired</Badge>}
      <Time at={at} />
    </div>
  )
}
