import { useEffect } from 'react'
import { useActionPages } from '../../api/queries.ts'
import { Alert } from '../../ui/Alert.tsx'
import { LoadMore } from '../../ui/app/LoadMore.tsx'
import { PartHead } from '../../ui/app/Page.tsx'
import { ActionsHead, Cell, Row, Table } from '../../ui/app/Table.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { InvitationRow } from './InvitationRow.tsx'

const PAGE_SIZE = 100
/** Polling interval while a mail is being sent, in milliseconds. */
const SENDING_INTERVAL_MS = 3_000

/** Open invitations of an organization. */
export function PendingInvitations({ organizationId }: { organizationId: string }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useActionPages(
    'organizations_QueryInvitations',
    { organizationId, limit: PAGE_SIZE },
  )
  const invitations = data?.pages.flatMap(page => page.invitations)
  const total = data?.pages[0]?.total
  const isSending = invitations?.some(({ mail }) => mail?.state === 'Sending') ?? false
  useEffect(() => {
    if (!isSending) return
    const timer = setInterval(() => document.hidden || void refetch(), SENDING_INTERVAL_MS)
    return () => clearInterval(timer)
  }, [isSending, refetch])
  return (
    <section>
      <PartHead title="Pending invitations" count={total} />
      {error && (
        <Alert tone="warn" title="The invitations could not be loaded.">
          <ErrorText error={error} />
        </Alert>
      )}
      {(invitations || !error) && (
        <Table caption="Pending invitations" head={HEAD} busy={!invitations} rowsOnPhones>
          {invitations?.map(invitation => (
            <InvitationRow key={invitation.invitationId} invitation={invitation} />
          )) ?? <SkeletonRows columns={5} rows={2} />}
          {invitations?.length === 0 && (
            <Row>
              <Cell span={5}>
                <span className="muted">No pending invitations.</span>
              </Cell>
            </Row>
          )}
        </Table>
      )}
      {hasNextPage && (
        <LoadMore
          shown={invitations?.length ?? 0}
          total={total}
          what="invitations"
          busy={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        />
      )}
    </section>
  )
}

const HEAD = (
  <tr>
    <th scope="col">Email</th>
    <th scope="col">Invited</th>
    <th scope="col">Mail</th>
    <th scope="col">Ends</th>
    <ActionsHead />
  </tr>
)
