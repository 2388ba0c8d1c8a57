import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { CircleAlert, File, Tag } from 'lucide-react'
import { invalidateActions, useAction, useActionState } from '../../../api/queries.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import alert from '../../../ui/Alert.module.css'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { EmptyState } from '../../../ui/app/EmptyState.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { LiveStamp } from '../../../ui/app/LiveStamp.tsx'
import { Page } from '../../../ui/app/Page.tsx'
import { RefreshButton } from '../../../ui/app/RefreshButton.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { Settled } from '../../../ui/app/Settled.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Code } from '../../../ui/Code.tsx'
import { isAbsent } from '../../../ui/is-absent.ts'
import { Breadcrumb } from '../../../ui/lazy/Breadcrumb.tsx'
import { EntityHead } from '../../../ui/lazy/EntityHead.tsx'
import { SheetSkeleton } from '../../../ui/lazy/SheetSkeleton.tsx'
import { Absent } from '../../../ui/NotFound.tsx'
import { Skeleton } from '../../../ui/Skeleton.tsx'
import { Title } from '../../../ui/Title.tsx'
import { useCopy } from '../../../ui/use-copy.ts'
import { CountLink } from '../../software/shared/CountLink.tsx'
import shared from '../../software/shared/software.module.css'
import { versionLabel } from '../../software/shared/version-label.ts'
import { uploadCommand } from '../cli-commands.ts'
import { FileTable } from '../FileTable.tsx'
import { FailureTable } from './FailureTable.tsx'
import { MoveTags } from './MoveTags.tsx'
import { NextSteps } from './NextSteps.tsx'
import { ProjectTable } from './ProjectTable.tsx'
import { SiblingLink } from './SiblingLink.tsx'
import { TagRail } from './TagRail.tsx'
import { isUsed, projectsBy, type Usage } from './usage.ts'
import { VersionChart } from './VersionChart.tsx'
import styles from './VersionPage.module.css'
import whoRunsIt from './WhoRunsIt.module.css'
import { WhoRunsIt } from './WhoRunsIt.tsx'

const REPOSITORY = '/org_{$organization}/repositories/$repositoryId'

const route = getRouteApi(
  '/authenticated/org_{$organization}/repositories/$repositoryId/packages/$packageId/versions/$versionId',
)

/** A version of a package: the devices that run it, why others fail to install it, its tags and files, and how a tag moves. */
export function VersionPage() {
  const { repositoryId, packageId, versionId } = route.useParams()
  const queryClient = useQueryClient()
  const version = useAction('repositories_GetVersionDetails', { versionId })
  const { error } = useActionState('repositories_GetVersionDetails', { versionId })
  const packageName = useActionState('repositories_GetPackageDetails', { packageId }).data?.name ?? packageId
  const repository = useActionState('repositories_GetDetails', { repositoryId }).data
  const { copy } = useCopy(versionId)
  useShortcut('c', 'Copy the version id', copy)
  const counting = useActionState('repositories_GetVersionUsage', { versionId, history: true })
  const usage = counting.data
  const neighbour = usage?.newer ?? usage?.before
  if (version.repositoryId !== repositoryId || version.packageId !== packageId) {
    return <Absent reason="The version belongs to another package or repository." />
  }
  // The version may be deleted while its page is open.
  if (isAbsent(error)) return <Absent reason={error} />
  const { tags, assets, createdAt, metadata } = version
  const name = versionLabel(version)
  const title = name === versionId ? 'Version' : `${packageName} ${name}`
  const path = [
    repository?.publicName ?? repositoryId,
    packageName,
    tags.find(tag => tag.locked)?.tag ?? tags[0]?.tag ?? versionId,
  ] as const
  // A movable tag may point to another version when the command runs, so commands name this version by a locked tag or its id.
  const fixedPath = [path[0], packageName, tags.find(tag => tag.locked)?.tag ?? versionId] as const
  const isRunning = usage?.counts !== undefined && isUsed(usage.counts)
  const otherTags = usage?.tags.filter(one => !tags.some(({ tag }) => tag === one.tag)) ?? []
  return (
    <Page width="list">
      <Title page={title} />
      <Settled
        label="Loading version"
        skeleton={
          <>
            <Breadcrumb links={['Packages']} here={undefined} />
            {/* The name of the package comes later and may need another number of lines. */}
            <EntityHead title="Version" facts={<span className="mono">{versionId}</span>} />
            <SheetSkeleton heightPx={180} />
            <SheetSkeleton heightPx={240} />
          </>
        }
      >
        <Breadcrumb
          links={[
            <Link key="packages" from={REPOSITORY} to="./packages">
              Packages
            </Link>,
            <Link key="package" from={REPOSITORY} to="./packages/$packageId" params={{ packageId }}>
              {packageName}
            </Link>,
          ]}
          here={name}
        />
        <EntityHead
          title={title}
          facts={
            <>
              <Id id={versionId} what="version id" />
              <span>
                Created <Time at={createdAt} />
              </span>
              {neighbour && (
                <span className={shared.linkedText}>
                  {usage?.newer ? 'Newer:' : 'Before:'} <SiblingLink {...neighbour} />
                </span>
              )}
            </>
          }
          actions={
            <>
              <LiveStamp
                updatedAt={counting.dataUpdatedAt}
                {...(usage && { failedAt: counting.errorUpdatedAt })}
              />
              <RefreshButton
                onRefresh={() =>
                  invalidateActions(queryClient, [
                    'repositories_GetVersionUsage',
                    'repositories_GetVersionDetails',
                  ])
                }
              />
              {isRunning && (
                <a className="button" href="#move">
                  <Tag className="icon" aria-hidden />
                  Move a tag
                </a>
              )}
            </>
          }
        />
        {usage && <Problem usage={usage} name={name} />}
        <ErrorAlert
          title="Could not count devices."
          error={counting.error}
          action={
            <Button size="sm" onClick={() => void counting.refetch()}>
              Try again
            </Button>
          }
        />
        {!usage && !counting.error && (
          <div className={`sheet ${whoRunsIt.panel}`} role="status">
            <div className={`muted ${whoRunsIt.top}`}>Counting…</div>
            <Skeleton label="Counting devices" />
          </div>
        )}
        {usage?.tookTooLong && (
          <div className={`sheet ${whoRunsIt.panel}`} role="status">
            <div className={`muted ${whoRunsIt.top}`}>
              – Counting took longer than 2 s. The page tries again.
            </div>
          </div>
        )}
        {usage?.counts && isRunning && (
          <WhoRunsIt usage={usage} counts={usage.counts} packageName={packageName} />
        )}
        <div className={styles.columns}>
          <div className={`stack ${styles.overview}`}>
            {usage?.counts && !isRunning && (
              <NextSteps version={version} name={name} usage={usage} path={fixedPath} />
            )}
            {usage && usage.failures.length > 0 && <FailureTable usage={usage} />}
            {usage && isRunning && <ProjectTable usage={usage} packageName={packageName} />}
            {usage?.series && isRunning && (
              <VersionChart series={usage.series} moves={usage.moves} name={name} />
            )}
          </div>
          <div className={`stack ${styles.rail}`}>
            <TagRail title="Tags" tags={tags} usage={usage} />
            {otherTags.length > 0 && (
              <TagRail title={`Other tags of ${packageName}`} tags={otherTags} usage={usage} withVersions />
            )}
            <Metadata metadata={metadata} />
          </div>
          <div className={`stack ${styles.rest}`}>
            <Section title="Assets" padded={false}>
              {assets.length > 0 ? (
                <FileTable files={assets} />
              ) : (
                <EmptyState
                  bare
                  icon={File}
                  title="This version has no assets."
                  action={
                    <Code
                      text={uploadCommand(...path).command}
                      label="Copy the command: Upload files"
                      prompt
                    />
                  }
                />
              )}
            </Section>
            {usage?.counts && !isRunning && (
              <Section title="Projects" padded={false}>
                <p className={shared.text}>
                  {usage.projectCount === 0
                    ? 'No project that you may see is linked to this repository.'
                    : `${counted(usage.projectCount, 'project')} that you may see can use this version. Counts, failures by reason and the last 14 days stand here from the first device that reports it.`}
                </p>
              </Section>
            )}
            {usage && isRunning && <MoveTags usage={usage} name={name} path={fixedPath} />}
          </div>
        </div>
      </Settled>
    </Page>
  )
}

function Problem({ usage, name }: { usage: Usage; name: string }) {
  const fails = usage.counts?.fails ?? 0
  if (fails === 0) return null
  const [first] = usage.failures
  const isShared = first !== undefined && first.deviceCount > 1 && usage.failures.length > 1
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for form controls
    <div
      className={`alert ${alert.alert} ${styles.problem}`}
      data-tone="bad"
      role="group"
      aria-label="Problem"
    >
      <CircleAlert className="icon" aria-hidden />
      <span className="grow">
        <strong>
          {counted(fails, 'device')} failed to install {name}.
        </strong>{' '}
        {first?.error &&
          (isShared
            ? `${formatCount(first.deviceCount)} of them for one reason: ${first.error}.`
            : `${first.error}.`)}
      </span>
      <CountLink
        before="Show"
        count={fails}
        after={fails === 1 ? 'device' : 'devices'}
        words="that failed to install it"
        projects={projectsBy(usage, 'fails')}
        condition={{ versionId: usage.versionId, is: 'fails' }}
      />
    </div>
  )
}

function Metadata({ metadata }: { metadata: Record<string, unknown> }) {
  const entries = Object.entries(metadata)
  if (entries.length === 0) return null
  return (
    <Section title="Metadata" padded={false}>
      <dl className={styles.metadata}>
        {entries.map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}
