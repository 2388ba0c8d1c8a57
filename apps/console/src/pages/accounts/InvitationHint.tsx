import { MailOpen } from 'lucide-react'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { useInvitations } from './use-invitations.ts'

/** Names the organization that invites the signed-in user, with a link to the invitations. Renders nothing without an invitation. */
export function InvitationHint() {
  const { invitations: [newest] = [], total = 1 } = useInvitations() ?? {}
  if (!newest) return null
  const others = total > 1 ? ` and ${total - 1} more` : ''
  return (
    <EmptyState
      icon={MailOpen}
      title={`You are invited to ${newest.organization.name}${others}`}
      action={<LinkButton to="/user/invitations">View {total > 1 ? 'invitations' : 'invitation'}</LinkButton>}
    >
      Accept the invitation to work with the projects and repositories of the organization.
    </EmptyState>
  )
}
