import type { ActionOutput } from '@muster/actions/client'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ShieldMinus, ShieldPlus, ShieldUser, Trash2, User } from 'lucide-react'
import { invoke } from '../../api/client.ts'
import { invalidateActions, useCommand } from '../../api/queries.ts'
import { dayWithYear } from '../../lib/app/local-time.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { forgetOrganization } from '../../organization.ts'
import { useSession } from '../../session.ts'
import { Avatar } from '../../ui/app/Avatar.tsx'
import { Badge } from '../../ui/app/Badge.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { toast, toastError, toastUndo } from '../../ui/app/toast.ts'
import { Unnamed } from '../../ui/app/Unnamed.tsx'
import { ACTIONS, Cell, type Column, Row } from '../../ui/lazy/Table.tsx'
import styles from './MemberRow.module.css'

type Member = ActionOutput<'organizations_QueryMembers'>['members'][number]

/** Columns of the members. */
export const MEMBER_COLUMNS: readonly Column[] = [
  { name: 'Name', kind: 'title' },
  { name: 'Email' },
  { name: 'Role' },
  { name: 'Member since' },
  { name: 'Last seen' },
  ACTIONS,
]

/** A table row with a member, the member's role and last request, and buttons that change the role and remove the member. */
export function MemberRow({ organizationId, member }: { organizationId: string; member: Member }) {
  const { userId, displayName, email, isAdmin, memberSince, lastSeenAt } = member
  const session = useSession()
  const queryClient = useQueryClient()
  const name = displayName || email
  const isOneself = userId === session.userId
  const invalidates = ['organizations_QueryMembers'] as const
  const setIsAdmin = useCommand('organizations_SetMemberIsAdmin', { invalidates })
  const leave = useLeave(organizationId, session.userId)
  const remove = useCommand('organizations_RemoveMember', isOneself ? { onSuccess: leave } : { invalidates })

  function changeRole() {
    setIsAdmin.mutate(
      { organizationId, userId, isAdmin: !isAdmin },
      {
        onSuccess: () => toast(isAdmin ? `${name} is a member now.` : `${name} is an administrator now.`),
        onError: error => toastError('Could not change the role', error),
      },
    )
  }

  /** Runs when the user undoes the removal. The row is no longer mounted by then, so this uses no mutation of the row. */
  async function inviteAgain() {
    try {
      await invoke('organizations_InviteMember', { organizationId, email })
      toast('Invitation sent again.')
      await invalidateActions(queryClient, ['organizations_QueryInvitations'])
    } catch (error) {
      toastError('Could not send the invitation', error)
    }
  }

  async function removeMember() {
    try {
      await remove.mutateAsync({ organizationId, userId })
      if (isOneself) {
        toast('You left the organization.')
        return
      }
      toastUndo(`${name} removed. Undo sends a new invitation to ${email}.`, () => void inviteAgain())
      focusHeading()
    } catch (error) {
      toastError(isOneself ? 'Could not leave the organization' : 'Could not remove the member', error)
    }
  }

  return (
    <Row>
      <Cell>
        <span className={`row ${styles.person}`}>
          <Avatar name={name} />
          <span className="lines">
            {displayName ? <b>{displayName}</b> : <Unnamed />}
            {isOneself && <span className="muted"> (you)</span>}
          </span>
        </span>
      </Cell>
      <Cell>
        <span className="lines">{email}</span>
      </Cell>
      <Cell>
        {isAdmin ? (
          <Badge tone="info" icon={ShieldUser}>
            Admin
          </Badge>
        ) : (
          <Badge icon={User}>Member</Badge>
        )}
      </Cell>
      <Cell>
        <time dateTime={memberSince}>{dayWithYear(Date.parse(memberSince))}</time>
      </Cell>
      <Cell>{lastSeenAt ? <Time at={lastSeenAt} /> : <span className="muted">–</span>}</Cell>
      <Cell>
        <IconButton
          label={isAdmin ? `Make ${name} a member` : `Make ${name} an administrator`}
          icon={isAdmin ? ShieldMinus : ShieldPlus}
          size="sm"
          busy={setIsAdmin.isPending}
          onClick={changeRole}
        />
        <IconButton
          label={`Remove ${name}`}
          icon={Trash2}
          size="sm"
          busy={remove.isPending}
          onClick={() => void removeMember()}
        />
      </Cell>
    </Row>
  )
}

/** Returns a function to call after the user has left the organization. It refetches the user's organizations and opens the start page. */
function useLeave(organizationId: string, userId: string) {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  return async () => {
    await invalidateActions(queryClient, ['users_QueryOrganizations'])
    await navigate({ to: '/' })
    forgetOrganization(userId, organizationId)
  }
}
