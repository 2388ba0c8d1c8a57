import type { ActionOutput } from '@muster/actions/client'
import { MailOpen } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useActionPages, useCommand } from '../../api/queries.ts'
import { organizationParam } from '../../organization.ts'
import { useSession } from '../../session.ts'
import { Alert } from '../../ui/Alert.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { ACTIONS, Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import { Main } from '../../ui/Main.tsx'

const PAGE_SIZE = 100

type Invitation = ActionOutput<'users_QueryOrganizationInvitations'>['invitations'][number]
type Organization = Invitation['organization']

/** The open invitations of the signed-in user. */
export function InvitationsPage() {
  const { userId } = useSession()
  const [joined, setJoined] = useState<Organization>()
  const list = useActionPages('users_QueryOrganizationInvitations', { userId, limit: PAGE_SIZE })
  const invitations = list.data?.pages.flatMap(page => page.invitations)
  return (
    <Main>
      <ListPage title="Invitations" what="invitations" list={list} shown={invitations?.length} width="grid">
        {joined && <Joined key={joined.organizationId} organization={joined} />}
        {invitations?.length === 0 ? (
          <EmptyState icon={MailOpen} title="No open invitations.">
            An organization that invites your address appears here.
          </EmptyState>
        ) : (
          <Table
            caption="Invitations"
            columns={COLUMNS}
            bars={2}
            rows={invitations?.map(invitation => (
              <InvitationRow key={invitation.invitationId} invitation={invitation} onAccepted={setJoined} />
            ))}
          />
        )}
      </ListPage>
    </Main>
  )
}

const COLUMNS: readonly Column[] = [{ name: 'Organization id' }, { name: 'Name', kind: 'title' }, ACTIONS]

/**
 * Message that confirms an accepted invitation, with a link to the organization. The message takes the focus, because
 * the focused button disappears with the row of the invitation.
 */
function Joined({ organization: { organizationId, name } }: { organization: Organization }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <Alert
      ref={box}
      tone="ok"
      action={
        <LinkButton
          size="sm"
          to="/org_{$organization}"
          params={{ organization: organizationParam(organizationId) }}
        >
          Open organization
        </LinkButton>
      }
    >
      You joined <b>{name}</b>.
    </Alert>
  )
}

type InvitationRowProps = { invitation: Invitation; onAccepted: (organization: Organization) => void }

function InvitationRow({ invitation: { invitationId, organization }, onAccepted }: InvitationRowProps) {
  const accept = useCommand('users_AcceptOrganizationInvitation', {
    invalidates: ['users_QueryOrganizationInvitations', 'users_QueryOrganizations'],
    onSuccess: () => onAccepted(organization),
  })
  return (
    <Row>
      <Cell>
        <Id id={organization.organizationId} what="organization id" />
      </Cell>
      <Cell>
        <span className="lines">{organization.name}</span>
      </Cell>
      <Cell>
        <Button
          size="sm"
          busy={accept.isPending}
          busyLabel="Accepting…"
          aria-label={`Accept the invitation to ${organization.name}`}
          onClick={() =>
            accept.mutate(
              { invitationId },
              { onError: error => toastError('Could not accept the invitation', error) },
            )
          }
        >
          Accept
        </Button>
      </Cell>
    </Row>
  )
}
