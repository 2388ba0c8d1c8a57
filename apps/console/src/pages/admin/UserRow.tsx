import type { ActionOutput } from '@muster/actions/client'
import { Ellipsis, Mail, Shield, ShieldOff, Trash2 } from 'lucide-react'
import { useCommand } from '../../api/queries.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { IconButton } from '../../ui/IconButton.tsx'
import { Id } from '../../ui/Id.tsx'
import { Menu, MenuItem } from '../../ui/Menu.tsx'
import { Cell, Row } from '../../ui/Table.tsx'
import { toast, toastError } from '../../ui/toast.ts'

export type User = ActionOutput<'users_Query'>['users'][number]

type UserRowProps = {
  user: User
  /** Opens the dialog that makes an administrator or takes it away. */
  onSetAdmin: () => void
}

/** One account; deleting it asks nothing (decisions). */
export function UserRow({ user, onSetAdmin }: UserRowProps) {
  const { userId, email, displayName, isAdmin } = user
  const mail = useCommand('users_ResetPassword')
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
      <Cell label="Name">
        <span className="lines">{displayName ?? <span className="un">unnamed</span>}</span>
      </Cell>
      <Cell label="Email">
        <span className="lines">{email}</span>
      </Cell>
      <Cell label="Admin">{isAdmin ? 'Yes' : 'No'}</Cell>
      <Cell end>
        <span className="row" style={{ justifyContent: 'flex-end', gap: 4 }}>
          <Menu
            align="end"
            trigger={<IconButton label={`More actions for ${email}`} icon={Ellipsis} size="sm" />}
          >
            <MenuItem icon={isAdmin ? ShieldOff : Shield} onSelect={onSetAdmin}>
              {isAdmin ? 'Remove administrator' : 'Make administrator'}
            </MenuItem>
            <MenuItem icon={Mail} onSelect={() => void sendMail()}>
              Send set-password mail
            </MenuItem>
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
