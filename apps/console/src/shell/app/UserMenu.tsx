import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ChevronDown, LogOut, Mail, Settings, ShieldUser } from 'lucide-react'
import { useInvitations } from '../../pages/account/use-invitations.ts'
import { settleDeletions } from '../../pages/devices/deleting/deletions.ts'
import { endSession, logOut, useSession } from '../../session.ts'
import { Menu, MenuHead, MenuItem, MenuLine, MenuLink } from '../../ui/app/Menu.tsx'
import { toastError } from '../../ui/app/toast.ts'
import { initialsOf } from './initials.ts'

/** The account menu: invitations, settings, administration, log out. */
export function UserMenu() {
  const { email, displayName, isAdmin } = useSession()
  const name = displayName || 'My Account'
  const queryClient = useQueryClient()
  const navigate = useNavigate()

  /** Logs out at the hub, then leaves the signed-in pages. If the hub refuses, the session stays. */
  async function leave() {
    try {
      // The deletions need the session, so their answers come first.
      await settleDeletions(queryClient)
      await logOut()
      await navigate({ to: '/login' })
      endSession(queryClient)
    } catch (error) {
      toastError('Could not log out', error)
    }
  }

  const trigger = (
    <button type="button" className="switch" aria-label={`Account menu, ${name}`}>
      <span className="av r" aria-hidden="true">
        {initialsOf(displayName || email)}
      </span>
      <span className="trunc hide-s">{name}</span>
      <ChevronDown className="i i-14" aria-hidden />
    </button>
  )
  return (
    <Menu trigger={trigger} align="end">
      <MenuHead>
        <b>{name}</b>
        <span>{email}</span>
      </MenuHead>
      <MenuLine />
      <InvitationsLink />
      <MenuLink icon={Settings} to="/settings">
        Settings
      </MenuLink>
      {isAdmin && (
        <MenuLink icon={ShieldUser} to="/admin">
          Administration
        </MenuLink>
      )}
      <MenuLine />
      <MenuItem icon={LogOut} onSelect={() => void leave()}>
        Log Out
      </MenuItem>
    </Menu>
  )
}

/** Link to the invitations with their number, which loads when the menu opens. */
function InvitationsLink() {
  const total = useInvitations()?.total
  return (
    <MenuLink icon={Mail} to="/user/invitations" count={total || undefined}>
      Invitations
    </MenuLink>
  )
}
