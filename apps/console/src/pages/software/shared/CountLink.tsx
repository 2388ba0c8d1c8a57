import { Link } from '@tanstack/react-router'
import { formatCount } from '../../../lib/app/format.ts'
import { organizationParam } from '../../../organization.ts'
import { Menu, MenuLink } from '../../../ui/app/Menu.tsx'
import type { DeviceSearch } from '../../devices/shared/device-search.ts'
import { type SoftwareCondition, writeSoftware } from '../../devices/shared/software-condition.ts'
import styles from './software.module.css'

const DEVICES = '/org_{$organization}/projects/$projectId/devices'

/** A project with the number of its devices that a link lists. */
export type CountedProject = { projectId: string; organizationId: string; name: string; count: number }

type CountLinkProps = {
  count: number
  /** Words after the number for screen readers only, for example "devices run 2.23.0". */
  words: string
  /** Visible words before and after the number. */
  before?: string
  after?: string
  projects: readonly CountedProject[]
  condition: SoftwareCondition
  /** Limits the list of devices to those with this failure of their update. */
  failure?: Pick<DeviceSearch, 'error' | 'target'>
}

/** A number that leads to the list of its devices. Devices of several projects have a menu with one list for each. */
export function CountLink({ count, words, before, after, projects, condition, failure }: CountLinkProps) {
  const shown = projects.filter(project => project.count > 0)
  const text = (
    <>
      {before && `${before} `}
      {formatCount(count)}
      {after && ` ${after}`}
      <span className="visually-hidden"> {words}</span>
    </>
  )
  const search = { software: writeSoftware(condition), ...failure }
  const to = ({ projectId, organizationId }: CountedProject) =>
    ({ to: DEVICES, params: { organization: organizationParam(organizationId), projectId }, search }) as const
  if (count === 0 || shown.length === 0) return <span className={styles.none}>{text}</span>
  if (shown.length === 1)
    return (
      <Link {...to(shown[0]!)} className={styles.count}>
        {text}
      </Link>
    )
  return (
    <Menu
      trigger={
        <button type="button" className={`${styles.count} ${styles.menu}`}>
          {text}
        </button>
      }
    >
      {shown.map(project => (
        <MenuLink key={project.projectId} {...to(project)}>
          {project.name}: {formatCount(project.count)}
        </MenuLink>
      ))}
    </Menu>
  )
}
