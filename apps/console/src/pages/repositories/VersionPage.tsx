import { getRouteApi, Link } from '@tanstack/react-router'
import { File } from 'lucide-react'
import { useAction, useActionState } from '../../api/queries.ts'
import { uploadCommand } from '../../lib/cli-commands.ts'
import { Breadcrumb } from '../../ui/Breadcrumb.tsx'
import { Code } from '../../ui/Code.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { Id } from '../../ui/Id.tsx'
import { NotFound } from '../../ui/NotFound.tsx'
import { Page } from '../../ui/Page.tsx'
import { Section } from '../../ui/Section.tsx'
import { Time } from '../../ui/Time.tsx'
import { Title } from '../../ui/Title.tsx'
import { FileTable } from './FileTable.tsx'
import { TagList } from './TagList.tsx'

const REPOSITORY = '/org_{$organization}/repositories/$repositoryId'

const route = getRouteApi(
  '/authenticated/org_{$organization}/repositories/$repositoryId/packages/$packageId/versions/$versionId',
)

/** One version of a package: its tags and its files. */
export function VersionPage() {
  const { repositoryId, packageId, versionId } = route.useParams()
  const version = useAction('repositories_GetVersionDetails', { versionId })
  const packageName = useActionState('repositories_GetPackageDetails', { packageId }).data?.name ?? packageId
  const repository = useActionState('repositories_GetDetails', { repositoryId }).data
  if (version.repositoryId !== repositoryId || version.packageId !== packageId) return <NotFound />
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
