import { getRouteApi, Link } from '@tanstack/react-router'
import { File } from 'lucide-react'
import { useAction, useActionState } from '../../api/queries.ts'
import { uploadCommand } from '../../lib/app/cli-commands.ts'
import { Breadcrumb } from '../../ui/app/Breadcrumb.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Page } from '../../ui/app/Page.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { Code } from '../../ui/Code.tsx'
import { isAbsent } from '../../ui/is-absent.ts'
import { Absent } from '../../ui/NotFound.tsx'
import { Title } from '../../ui/Title.tsx'
import { FileTable } from './FileTable.tsx'
import { TagList } from './TagList.tsx'

const REPOSITORY = '/org_{$organization}/repositories/$repositoryId'

const route = getRouteApi(
  '/authenticated/org_{$organization}/repositories/$repositoryId/packages/$packageId/versions/$versionId',
)

/** A version of a package with its tags and files. */
export function VersionPage() {
  const { repositoryId, packageId, versionId } = route.useParams()
  const version = useAction('repositories_GetVersionDetails', { versionId })
  const { error } = useActionState('repositories_GetVersionDetails', { versionId })
  const packageName = useActionState('repositories_GetPackageDetails', { packageId }).data?.name ?? packageId
  const repository = useActionState('repositories_GetDetails', { repositoryId }).data
  if (version.repositoryId !== repositoryId || version.packageId !== packageId) {
    return <Absent reason="The version belongs to another package or repository." />
  }
  // The version may be deleted while its page is open.
  if (isAbsent(error)) return <Absent reason={error} />
  const { name, tags, assets, createdAt } = version
  return (
    <Page width="list">
      <Title page={name ?? 'Version'} />
      <Breadcrumb
        links={[
          <Link key="packages" from={REPOSITORY} to="./packages">
            Packages
          </Link>,
          <Link key="package" from={REPOSITORY} to="./packages/$packageId" params={{ packageId }}>
            {packageName}
          </Link>,
        ]}
        here={name ?? versionId}
      />
      <div className="dhead">
        <div className="grow">
          <h1 tabIndex={-1} className="any">
            {name ?? 'Version'}
          </h1>
          <div className="meta">
            <Id id={versionId} what="version id" />
            <span>
              Created <Time at={createdAt} />
            </span>
          </div>
        </div>
      </div>
      <div className="stack">
        <Section title="Tags">
          {tags.length > 0 ? <TagList tags={tags} /> : <p className="muted">No tags.</p>}
        </Section>
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
                  text={
                    uploadCommand(
                      repository?.publicName ?? repositoryId,
                      packageName,
                      tags[0]?.tag ?? versionId,
                    ).command
                  }
                  label="Copy the command: Upload files"
                  prompt
                />
              }
            />
          )}
        </Section>
      </div>
    </Page>
  )
}
