import type { ActionOutput } from '@muster/actions/client'
import { Trash2 } from 'lucide-react'
import { useActionPages, useCommand } from '../../api/queries.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { Alert } from '../../ui/Alert.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { LoadMore } from '../../ui/app/LoadMore.tsx'
import { PartHead } from '../../ui/app/Page.tsx'
import { ActionsHead, Cell, Row, Table } from '../../ui/app/Table.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'

const PAGE_SIZE = 100

type Invitation = ActionOutput<'organizations_QueryInvitations'>['invitations'][number]

/** Open invitations of an organization. */
export function PendingInvitations({ organizationId }: { organizationId: string }) {
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useActionPages(
    'organizations_QueryInvitations',
    { organizationId, limit: PAGE_SIZE },
  )
  const invitations = data?.pages.flatMap(page => page.invitations)
  const total = data?.pages[0]?.total
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
          )) ?? <SkeletonRows columns={2} rows={2} />}
          {invitations?.length === 0 && (
            <Row>
              <Cell span={2}>
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
    <ActionsHead />
  </tr>
)

function InvitationRow({ invitation: { invitationId, email } }: { invitation: Invitation }) {
  const remove = useCommand('organizations_DeleteInvitation', {
    invalidates: ['organizations_QueryInvitations'],
  })

  async function deleteInvitation() {
    try {
      await remove.mutateAsync({ invitationId })
      toast(`Invitation of ${email} deleted.`)
      focusHeading()
    } catch (error) {
      toastError('Could not delete the invitation', error)
    }
  }

  return (
    <Row>
      <Cell>
        <span className="lines">{email}</span>
      </Cell>
      <Cell end>
        <IconButton
          label={`Delete invitation of ${email}`}
          icon={Trash2}
          size="sm"
          busy={remove.isPending}
          onClick={() => void deleteInvitation()}
        />
      </Cell>
    </Row>
  )
}
