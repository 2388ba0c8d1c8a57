import { ChevronDown, LogOut, Mail, Settings, ShieldUser } from 'lucide-react'
import { useInvitations } from '../../pages/accounts/shared/use-invitations.ts'
import { useSession } from '../../session.ts'
import { Avatar } from '../../ui/app/Avatar.tsx'
import { Menu, MenuHead, MenuItem, MenuLine, MenuLink } from '../../ui/app/Menu.tsx'
import styles from './TopBar.module.css'
import { useLogOut } from './use-log-out.ts'

/** The account menu: invitations, settings, administration, log out. */
export function UserMenu() {
  const { email, displayName, isAdmin } = useSession()
  const name = displayName || 'My Account'
  const logOut = useLogOut()
  const trigger = (
    <button type="button" className={`row ${styles.switcher}`} aria-label={`Account menu, ${name}`}>
      <Avatar name={displayName || email} isSelf />
      <span className="truncated hidden-on-phones">{name}</span>
      <ChevronDown className="icon small-icon" aria-hidden />
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
      <MenuItem icon={LogOut} onSelect={() => void logOut()}>
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
