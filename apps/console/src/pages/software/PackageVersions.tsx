import type { ActionOutput } from '@muster/actions/client'
import { Link, useParams } from '@tanstack/react-router'
import { type CSSProperties, type ReactNode, useId, useState } from 'react'
import { counted, formatCount } from '../../lib/app/format.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { Button } from '../../ui/Button.tsx'
import { type SoftwareCondition, writeSoftware } from '../devices/shared/software-condition.ts'
import { VersionLink } from '../repositories/shared/VersionLink.tsx'
import styles from './PackageVersions.module.css'
import shared from './shared/software.module.css'
import tickRow from './shared/TickRow.module.css'
import { TickSign } from './shared/TickRow.tsx'
import { type TickState, ticksOf, tickText } from './shared/ticks.ts'

const DEVICES = '/org_{$organization}/projects/$projectId/devices'
/** Number of versions up to which all rows are shown. With more versions, older ones without a tag, an update or a failure are folded. */
const MAX_ROWS = 8
/** Maximum number of tags that are shown for a version. */
const MAX_TAGS = 4

type Software = ActionOutput<'projects_GetSoftware'>
type Package = Software['packages'][number]
type Doing = { running: number; updating: number; failed: number }

/** Base of `PackageVersions.of` for software that belongs to no package of the hub. The caller adds the reported versions. */
export const NO_PACKAGE = { name: 'Other software', versions: [], reported: [], otherVersions: undefined }

type PackageVersionsProps = {
  projectId: string
  /** Number of devices that one tick stands for, the same in all rows. */
  perTick: number
  isNarrow: boolean
  /** Whether this sheet says what a tick is. The first one of the page does, for all. */
  hasLegend: boolean
  of: Pick<Package, 'name' | 'versions' | 'reported'> &
    Partial<Pick<Package, 'packageId' | 'repositoryId' | 'latest'>> & {
      otherVersions?: Doing | undefined
    }
}

/** States of the devices in a row, each with its tick and with the relation (`is`) for the filter of the device list. */
const STATES = [
  { key: 'running', label: 'Running', state: 'runs', is: 'stays' },
  { key: 'updating', label: 'Updating', state: 'installs', is: 'leaves' },
  { key: 'failed', label: 'Failed', state: 'fails', is: 'stuck' },
] as const satisfies readonly { key: keyof Doing; label: string; state: TickState; is: string }[]

/** The versions of a package that devices of a project run, as bars. Each number and part of a bar lists its devices. */
export function PackageVersions({ projectId, perTick, isNarrow, hasLegend, of }: PackageVersionsProps) {
  const { name, versions, reported, otherVersions, packageId, repositoryId, latest } = of
  const { organization } = useParams({ from: '/authenticated/org_{$organization}/projects/$projectId' })
  const [isWhole, setWhole] = useState(false)
  const headingId = useId()
  const isFolded = !isWhole && versions.length > MAX_ROWS
  const shown = isFolded
    ? versions.filter((version, index) => index < MAX_ROWS - 1 || isTelling(version))
    : versions
  const folded = versions.filter(version => !shown.includes(version))
  const runsNewest = !latest || versions.some(({ versionId }) => versionId === latest.versionId)
  return (
    <section className={`sheet ${styles.package}`} aria-labelledby={headingId}>
      <div className={`wrap ${styles.head}`}>
        <h2 id={headingId}>
          {packageId && repositoryId ? (
            <Link
              to="/org_{$organization}/repositories/$repositoryId/packages/$packageId"
              params={{ organization, repositoryId, packageId }}
            >
              {name}
            </Link>
          ) : (
            name
          )}
        </h2>
        {hasLegend && (
          <span className={`tiny muted ${shared.legend}`}>
            {tickText(perTick)}, at least one for each state.
            {!isNarrow && ' Click a part of a bar to list its devices.'}
          </span>
        )}
      </div>
      {/* biome-ignore lint/a11y/noRedundantRoles: browsers drop the implicit role when CSS changes `display` on small screens */}
      <table role="table" className={`table ${styles.table}`} data-on-phones="cards">
        <caption className="visually-hidden">Versions of {name} on the devices of this project</caption>
        <thead>
          <tr>
            <th scope="col" className={styles.version}>
              Version
            </th>
            <th scope="col" className={styles.created}>
              Created
            </th>
            <th scope="col">Devices by what they do now</th>
            {STATES.map(({ key, label, state }) => (
              <th key={key} scope="col" className={`end ${styles.count}`}>
                <span className={styles.state}>
                  <TickSign state={state} />
                  {label}
                </span>
              </th>
            ))}
            <th scope="col" className={`end ${styles.count}`}>
              Devices
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(version => (
            <VersionRow
              key={version.versionId}
              projectId={projectId}
              perTick={perTick}
              doing={version}
              name={version.name}
              conditionOf={is => ({ versionId: version.versionId, is: is ?? 'runs' })}
              head={
                <span className={styles.name}>
                  <VersionLink
                    repositoryId={repositoryId!}
                    packageId={packageId!}
                    versionId={version.versionId}
                    className={shared.version}
                  >
                    {version.name}
                  </VersionLink>
                  {version.tags.slice(0, MAX_TAGS).map(tag => (
                    <Badge key={tag}>{tag}</Badge>
                  ))}
                </span>
              }
              createdAt={version.createdAt}
            />
          ))}
          {reported.map(version => (
            <VersionRow
              key={version.version}
              projectId={projectId}
              perTick={perTick}
              doing={version}
              name={version.version}
              conditionOf={is => ({
                reports: version.version,
                ...(packageId && { packageId }),
                ...(is && { is }),
              })}
              head={
                <span>
                  <bdi className={shared.version}>{version.version}</bdi>
                  <span className={`tiny muted ${shared.subline}`}>
                    {packageId ? 'not in this package' : 'not in a linked repository'}
                  </span>
                </span>
              }
            />
          ))}
          {otherVersions && (
            <VersionRow
              projectId={projectId}
              perTick={perTick}
              doing={otherVersions}
              name="other versions"
              conditionOf={is => ({
                versions: 'other',
                ...(packageId && { packageId }),
                ...(is && { is }),
              })}
              head={<span className="secondary">Other versions</span>}
            />
          )}
        </tbody>
      </table>
      {(folded.length > 0 || !runsNewest) && (
        <div className={shared.note}>
          {folded.length > 0 && (
            <Button size="sm" variant="ghost" onClick={() => setWhole(true)}>
              {counted(folded.length, 'older version')},{' '}
              {counted(
                folded.reduce((sum, version) => sum + devicesOf(version), 0),
                'device',
              )}
            </Button>
          )}
          {!runsNewest && packageId && repositoryId && (
            <span>
              <VersionLink repositoryId={repositoryId} packageId={packageId} versionId={latest.versionId}>
                {latest.name}
              </VersionLink>{' '}
              is newest, created <Time at={latest.createdAt} />; no device runs it yet.
            </span>
          )}
        </div>
      )}
    </section>
  )
}

type VersionRowProps = {
  projectId: string
  perTick: number
  doing: Doing
  name: string
  head: ReactNode
  createdAt?: string
  /** Condition for the device list: all devices of the row, or those in a state. */
  conditionOf: (is?: (typeof STATES)[number]['is']) => SoftwareCondition
}

function VersionRow({ projectId, perTick, doing, name, head, createdAt, conditionOf }: VersionRowProps) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}/projects/$projectId' })
  const total = devicesOf(doing)
  const searchOf = (is?: (typeof STATES)[number]['is']) => ({ software: writeSoftware(conditionOf(is)) })
  const number = (count: number, words: string, is?: (typeof STATES)[number]['is'], after?: string) =>
    count === 0 ? (
      <span className={`${shared.none} ${styles.none}`}>{formatCount(count)}</span>
    ) : (
      <Link
        to={DEVICES}
        params={{ organization, projectId }}
        search={searchOf(is)}
        className={`${shared.count} ${styles.number}`}
      >
        {formatCount(count)}
        {after && <>&nbsp;{after}</>}
        <span className="visually-hidden"> {words}</span>
      </Link>
    )
  return (
    // biome-ignore-start lint/a11y/noRedundantRoles: browsers drop the implicit role when CSS changes `display` on small screens
    <tr role="row">
      <td role="cell" className={styles.version}>
        {head}
      </td>
      <td role="cell" className={styles.created}>
        {createdAt && <Time at={createdAt} />}
      </td>
      <td role="cell" className={styles.bar}>
        {/* The numbers in this row lead to the same lists, so keyboard and screen readers skip the bar. */}
        <div className={tickRow.row} aria-hidden="true">
          {STATES.filter(({ key }) => doing[key] > 0).map(({ key, label, state, is }) => (
            <Link
              key={key}
              to={DEVICES}
              params={{ organization, projectId }}
              search={searchOf(is)}
              data-state={state}
              style={{ '--ticks': ticksOf(doing[key], perTick) } as CSSProperties}
              tabIndex={-1}
              title={`${formatCount(doing[key])} ${label.toLowerCase()}, ${name}`}
            />
          ))}
        </div>
      </td>
      {STATES.map(({ key, label, is }) => (
        <td key={key} role="cell" className={key === 'failed' ? `end ${styles.failed}` : 'end'}>
          {number(doing[key], `${label.toLowerCase()}, ${name}`, is)}
        </td>
      ))}
      <td role="cell" className={`end ${styles.total}`}>
        {number(total, `${total === 1 ? 'device' : 'devices'} on ${name}`)}
      </td>
      <td role="cell" className={styles.onPhones}>
        {STATES.slice(1)
          .filter(({ key }) => doing[key] > 0)
          .map(({ key, label, is }) => (
            <span key={key}>{number(doing[key], `, ${name}`, is, label.toLowerCase())}</span>
          ))}
      </td>
    </tr>
    // biome-ignore-end lint/a11y/noRedundantRoles: see above
  )
}

function devicesOf({ running, updating, failed }: Doing): number {
  return running + updating + failed
}

/** Whether a row stays when others are folded: its version has a tag, or devices that install or failed to install another version. */
function isTelling({ tags, updating, failed }: Package['versions'][number]): boolean {
  return tags.length > 0 || updating > 0 || failed > 0
}
