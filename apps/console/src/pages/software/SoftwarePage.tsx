import type { ActionOutput } from '@muster/actions/client'
import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Layers } from 'lucide-react'
import { invalidateActions, useActionState } from '../../api/queries.ts'
import { counted, formatCount } from '../../lib/app/format.ts'
import { useIsNarrow } from '../../lib/app/use-is-narrow.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { LiveStamp } from '../../ui/app/LiveStamp.tsx'
import { Page, PageHead } from '../../ui/app/Page.tsx'
import { RefreshButton } from '../../ui/app/RefreshButton.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { Button } from '../../ui/Button.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { writeConditions } from '../devices/shared/conditions.ts'
import { writeSoftware } from '../devices/shared/software-condition.ts'
import { VersionLink } from '../repositories/shared/VersionLink.tsx'
import { leadOf } from './lead.ts'
import { NO_PACKAGE, PackageVersions } from './PackageVersions.tsx'
import styles from './SoftwarePage.module.css'
import shared from './shared/software.module.css'
import { devicesPerTick } from './shared/ticks.ts'

const DEVICES = '/org_{$organization}/projects/$projectId/devices'
const PACKAGE = '/org_{$organization}/repositories/$repositoryId/packages/$packageId'
/** Maximum number of ticks in the longest row on wide screens. */
const MAX_TICKS = 95
/** Maximum number of ticks in the longest row on phones. */
const MAX_TICKS_ON_PHONES = 50

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/software')

type Software = ActionOutput<'projects_GetSoftware'>

/** Versions that the devices of a project run. For each version it counts the devices that only run it, install another, or failed to. */
export function SoftwarePage() {
  const { projectId } = route.useParams()
  const queryClient = useQueryClient()
  const query = useActionState('projects_GetSoftware', { projectId })
  const { data, error, dataUpdatedAt, errorUpdatedAt, refetch } = query
  if (error && !data) throw error
  return (
    <Page width="list">
      <PageHead title="Software" count={data?.deviceCount}>
        <LiveStamp updatedAt={dataUpdatedAt} {...(data && { failedAt: errorUpdatedAt })} />
        <RefreshButton onRefresh={() => invalidateActions(queryClient, ['projects_GetSoftware'])} />
      </PageHead>
      <ErrorAlert
        title="Could not count devices."
        error={error}
        action={
          <Button size="sm" onClick={() => void refetch()}>
            Try again
          </Button>
        }
      />
      {data ? <Content projectId={projectId} software={data} /> : <Counting />}
    </Page>
  )
}

function Counting() {
  return (
    <>
      <p className={styles.lead} role="status">
        Counting…
      </p>
      <div className="sheet">
        <Skeleton label="Counting devices" />
      </div>
    </>
  )
}

function Content({ projectId, software }: { projectId: string; software: Software }) {
  const { packages, reported, otherReported, unknown = 0, deviceCount = 0, tookTooLong } = software
  const { organization } = route.useParams()
  const isNarrow = useIsNarrow()
  const reporting = packages.filter(one => one.deviceCount > 0)
  const isSilent = deviceCount > 0 && unknown === deviceCount
  const longest = Math.max(
    unknown,
    ...[...reporting.flatMap(one => [...one.versions, ...one.reported]), ...reported].map(
      ({ running, updating, failed }) => running + updating + failed,
    ),
  )
  const perTick = devicesPerTick(longest, 3, isNarrow ? MAX_TICKS_ON_PHONES : MAX_TICKS)
  const lead = leadOf(software)
  const sheet = { projectId, perTick, isNarrow }
  if (tookTooLong)
    return (
      <p className={styles.lead} role="status">
        – Counting took longer than 2 s. The page tries again.
      </p>
    )
  return (
    <>
      {lead && (
        <p className={`${shared.linkedText} ${styles.lead}`}>
          <b>{lead.first}</b> {lead.rest}
          {lead.failed > 0 && (
            <>
              {' '}
              <Link
                to={DEVICES}
                params={{ organization, projectId }}
                search={{ show: 'updateFailed' as const }}
              >
                {counted(lead.failed, 'device')} failed to update.
              </Link>
            </>
          )}
          {unknown > 0 && ` ${formatCount(unknown)} ${unknown === 1 ? 'does' : 'do'} not report a version.`}
        </p>
      )}
      {deviceCount === 0 || isSilent ? (
        <EmptyState
          icon={Layers}
          title="No device reports its software yet."
          action={
            deviceCount === 0 && (
              <LinkButton to={DEVICES} params={{ organization, projectId }}>
                Connect a device
              </LinkButton>
            )
          }
        >
          The scripts on the devices write <span className="mono">dev.nexigon.ota.status</span>.
        </EmptyState>
      ) : (
        <>
          {reporting.map((one, index) => (
            <PackageVersions key={one.packageId} {...sheet} hasLegend={index === 0} of={one} />
          ))}
          {(reported.length > 0 || otherReported) && (
            <PackageVersions
              {...sheet}
              hasLegend={reporting.length === 0}
              of={{ ...NO_PACKAGE, reported, otherVersions: otherReported }}
            />
          )}
          {unknown > 0 && (
            <p className={`list-foot ${shared.linkedText}`}>
              <span>
                <Link
                  to={DEVICES}
                  params={{ organization, projectId }}
                  search={{ where: writeConditions([{ property: '#version', operator: 'absent' }])! }}
                >
                  {counted(unknown, 'device')}
                </Link>{' '}
                {unknown === 1 ? 'reports' : 'report'} no version.
              </span>
            </p>
          )}
        </>
      )}
      {packages.length > 0 && <LinkedPackages software={software} organization={organization} />}
    </>
  )
}

function LinkedPackages({
  software: { projectId, packages, packageCount },
  organization,
}: {
  software: Software
  organization: string
}) {
  return (
    <div className={styles.packages}>
      <Section title="Packages of this project" padded={false}>
        <Table
          caption="Packages of linked repositories"
          columns={PACKAGE_COLUMNS}
          bare
          rows={packages.map(
            ({ packageId, repositoryId, name, repositoryName, latest, deviceCount, versions }) => (
              <Row key={packageId}>
                <Cell>
                  <Link
                    to={PACKAGE}
                    params={{ organization, repositoryId, packageId }}
                    className="name lines"
                  >
                    {name}
                  </Link>
                </Cell>
                <Cell>{repositoryName}</Cell>
                <Cell>
                  {latest ? (
                    <VersionLink
                      repositoryId={repositoryId}
                      packageId={packageId}
                      versionId={latest.versionId}
                      className="mono"
                    >
                      {latest.name}
                    </VersionLink>
                  ) : (
                    <span className="muted">none yet</span>
                  )}
                </Cell>
                <Cell>{latest && <Time at={latest.createdAt} />}</Cell>
                <Cell>
                  {deviceCount > 0 ? (
                    <span>
                      <Link
                        to={DEVICES}
                        params={{ organization, projectId }}
                        search={{ software: writeSoftware({ packageId, versions: 'any' }) }}
                        className={shared.count}
                      >
                        {formatCount(deviceCount)}
                        <span className="visually-hidden"> devices with {name}</span>
                      </Link>{' '}
                      <span className="muted">on {counted(versions.length, 'version')}</span>
                    </span>
                  ) : (
                    <span className="muted">no device reports it</span>
                  )}
                </Cell>
              </Row>
            ),
          )}
        />
        {packageCount > packages.length && (
          <div className={shared.note}>
            The first {formatCount(packages.length)} of {formatCount(packageCount)} packages.
          </div>
        )}
      </Section>
    </div>
  )
}

const PACKAGE_COLUMNS: readonly Column[] = [
  { name: 'Package', kind: 'title' },
  { name: 'Repository' },
  { name: 'Latest version' },
  { name: 'Created' },
  { name: 'Devices' },
]
