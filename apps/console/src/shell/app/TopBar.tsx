import { Link } from '@tanstack/react-router'
import { ChevronsUpDown, Keyboard, Menu as MenuIcon } from 'lucide-react'
import {
  type Organization,
  organizationParam,
  useCurrentOrganization,
  useOrganizations,
} from '../../organization.ts'
import { Avatar } from '../../ui/app/Avatar.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Menu, MenuHead, MenuItem, MenuLine, MenuLink } from '../../ui/app/Menu.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { Logo } from '../Logo.tsx'
import { JumpButton } from './JumpButton.tsx'
import { organizationPages } from './pages.ts'
import { ThemeChoice, ThemeMenu } from './ThemeMenu.tsx'
import styles from './TopBar.module.css'
import { UserMenu } from './UserMenu.tsx'

/** The top bar: logo, organization, its pages, shortcuts, theme and account. */
export function TopBar({ onShortcuts }: { onShortcuts: () => void }) {
  const organization = useCurrentOrganization()
  return (
    <header className="topbar">
      <span className="burger">
        <PagesMenu organizationId={organization?.organizationId} onShortcuts={onShortcuts} />
      </span>
      <Logo />
      {organization && (
        <>
          <span className={styles.divider} />
          <OrganizationMenu current={organization} />
          <span className={styles.divider} />
          <nav className={styles.pages} aria-label="Organization">
            {organizationPages(organization.organizationId).map(({ label, to }) => (
              <Link key={to} to={to}>
                {label}
              </Link>
            ))}
          </nav>
        </>
      )}
      <span className="grow" />
      <JumpButton />
      <span className="hidden-on-phones row">
        <IconButton label="Keyboard shortcuts" icon={Keyboard} onClick={onShortcuts} />
        <ThemeMenu />
      </span>
      <UserMenu />
    </header>
  )
}

type PagesMenuProps = { organizationId: string | undefined; onShortcuts: () => void }

function PagesMenu({ organizationId, onShortcuts }: PagesMenuProps) {
  const trigger = (
    <button type="button" className={buttonClass('ghost', 'md', ' square')} aria-label="Open menu">
      <MenuIcon className="icon" aria-hidden />
    </button>
  )
  return (
    <Menu trigger={trigger}>
      {organizationId &&
        organizationPages(organizationId).map(({ label, to }) => (
          <MenuLink key={to} to={to}>
            {label}
          </MenuLink>
        ))}
      {organizationId && <MenuLine />}
      <ThemeChoice />
      <MenuLine />
      <MenuItem icon={Keyboard} onSelect={onShortcuts}>
        Keyboard shortcuts
      </MenuItem>
    </Menu>
  )
}

/** Maximum number of organizations for which the menu has no filter box. */
const MOST_WITHOUT_FILTER = 8

function OrganizationMenu({ current }: { current: Organization }) {
  const answer = useOrganizations()
  const organizations = answer ?? []
  // Until the hub has answered, the name of the organization may be unknown, and its id stands for it.
  const isNamed = answer !== undefined || current.name !== current.organizationId
  const trigger = (
    <button type="button" className={`row ${styles.switcher} ${styles.organization}`}>
      <Avatar name={isNamed ? current.name : undefined} />
      <span className="visually-hidden">Organization </span>
      {isNamed ? <span className="truncated">{current.name}</span> : <span className="skeleton" />}
      <ChevronsUpDown className="icon small-icon" aria-hidden />
    </button>
  )
  const hasFilter = organizations.length > MOST_WITHOUT_FILTER
  return (
    <Menu trigger={trigger} filterLabel={hasFilter ? 'Filter organizations' : undefined}>
      {filter => {
        const found = organizations.filter(({ name }) => name.toLowerCase().includes(filter.toLowerCase()))
        if (found.length === 0) return <MenuHead>No organization matches this filter.</MenuHead>
        return found.map(({ organizationId, name }) => (
          <MenuLink
            key={organizationId}
            to="/org_{$organization}"
            params={{ organization: organizationParam(organizationId) }}
            checked={organizationId === current.organizationId}
          >
            {name}
          </MenuLink>
        ))
      }}
    </Menu>
  )
}
