import type { ActionOutput } from '@muster/actions/client'
import {
  AtSign,
  Ellipsis,
  LogOut,
  Mail,
  Shield,
  ShieldOff,
  Trash2,
  UserRoundCheck,
  UserRoundX,
} from 'lucide-react'
import { useCommand } from '../../api/queries.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Menu, MenuItem } from '../../ui/app/Menu.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { Unnamed } from '../../ui/app/Unnamed.tsx'
import { ACTIONS, Cell, type Column, Row } from '../../ui/lazy/Table.tsx'

export type User = ActionOutput<'users_Query'>['users'][number]

/** Columns of the accounts. */
export const USER_COLUMNS: readonly Column[] = [
  { name: 'Id' },
  { name: 'Name', kind: 'title', sort: 'displayName' },
  { name: 'Email', sort: 'email' },
  { name: 'Admin' },
  ACTIONS,
]

type UserRowProps = {
  user: User
  /** Opens the dialog that grants or revokes the administrator role. */
  onSetAdmin: () => void
  /** Opens the dialog that disables or enables the account. */
  onSetActive: () => void
  /** Opens the dialog that changes the address of the account. */
  onSetEmail: () => void
}

/** A row with an account. Deletion needs no confirmation (docs/decisions.md). */
export function UserRow({ user, onSetAdmin, onSetActive, onSetEmail }: UserRowProps) {
  const { userId, email, displayName, isAdmin, isActive, isPending } = user
  const mail = useCommand('users_ResetPassword')
  const terminate = useCommand('users_TerminateSessions', { invalidates: ['users_QuerySessions'] })
  const remove = useCommand('users_Delete', { invalidates: ['users_Query', 'instance_GetStatistics'] })

  async function deleteUser() {
    try {
      await remove.mutateAsync({ userId })
      toast(`User ${email} deleted.`)
      focusHeading()
    } catch (error) {
      toastError('Could not delete the user', error)
    }
  }

  async function endSessions() {
    try {
      await terminate.mutateAsync({ userId })
      toast(`Sessions of ${email} ended.`)
    } catch (error) {
      toastError('Could not end the sessions', error)
    }
  }

  async function sendMail() {
    try {
      await mail.mutateAsync({ email })
      toast(`Set-password mail sent to ${email}.`)
    } catch (error) {
      toastError('Could not send the mail', error)
    }
  }

  return (
    <Row>
      <Cell>
        <Id id={userId} what="user id" />
      </Cell>
      <Cell>
        <div className="pair">
          <span className="lines">{displayName ?? <Unnamed />}</span>
          {isPending && <Badge>Not activated</Badge>}
          {!isActive && !isPending && <Badge tone="warn">Disabled</Badge>}
        </div>
      </Cell>
      <Cell>
        <span className="lines">{email}</span>
      </Cell>
      <Cell>{isAdmin ? 'Yes' : 'No'}</Cell>
      <Cell>
        <span className="row">
          <Menu
            align="end"
            trigger={<IconButton label={`More actions for ${email}`} icon={Ellipsis} size="sm" />}
          >
            <MenuItem icon={isAdmin ? ShieldOff : Shield} onSelect={onSetAdmin}>
              {isAdmin ? 'Remove administrator' : 'Make administrator'}
            </MenuItem>
            <MenuItem icon={AtSign} onSelect={onSetEmail}>
              Change email
            </MenuItem>
            <MenuItem icon={Mail} onSelect={() => void sendMail()}>
              Send set-password mail
            </MenuItem>
            <MenuItem icon={LogOut} onSelect={() => void endSessions()}>
              End sessions
            </MenuItem>
            {!isPending && (
              <MenuItem icon={isActive ? UserRoundX : UserRoundCheck} onSelect={onSetActive}>
                {isActive ? 'Disable user' : 'Enable user'}
              </MenuItem>
            )}
          </Menu>
          <IconButton
            label={`Delete user ${email}`}
            icon={Trash2}
            size="sm"
            busy={remove.isPending}
            onClick={() => void deleteUser()}
          />
        </span>
      </Cell>
    </Row>
  )
}
