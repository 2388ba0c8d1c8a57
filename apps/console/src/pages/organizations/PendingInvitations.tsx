import { useEffect } from 'react'
import { useActionPages } from '../../api/queries.ts'
import { Alert } from '../../ui/Alert.tsx'
import { LoadMore } from '../../ui/app/LoadMore.tsx'
import { PartHead } from '../../ui/app/Page.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { Table } from '../../ui/lazy/Table.tsx'
import { INVITATION_COLUMNS, InvitationRow } from './InvitationRow.tsx'

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
        <Table
          caption="Pending invitations"
          columns={INVITATION_COLUMNS}
          bars={2}
          rows={invitations?.map(invitation => (
            <InvitationRow key={invitation.invitationId} invitation={invitation} />
          ))}
          none={<span className="muted">No pending invitations.</span>}
        />
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
