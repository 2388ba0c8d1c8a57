import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Tags } from 'lucide-react'
import { useActionPages, useActionState } from '../../api/queries.ts'
import { anyText, oneOf, usePageSearch } from '../../lib/app/search.ts'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { isAbsent } from '../../ui/is-absent.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { Breadcrumb } from '../../ui/lazy/Breadcrumb.tsx'
import { ACTIONS, Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import { Absent } from '../../ui/NotFound.tsx'
import { Commands } from './Commands.tsx'
import { createVersionCommand, uploadCommand } from './cli-commands.ts'
import { LIST_PAGE_SIZE } from './page-size.ts'
import { TagList } from './TagList.tsx'

const FROM = '/org_{$organization}/repositories/$repositoryId/packages/$packageId'
/** Maximum number of tags that a table row shows at first. A button shows the rest. */
const ROW_TAGS = 4

/** Search parameters of the list of a package's versions. */
export const versionsSearch = { q: anyText, sort: oneOf(['createdAt', '-createdAt'], '-createdAt') }

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId/packages/$packageId')

/** The versions of a package with their tags, newest first. */
export function PackagePage() {
  const { repositoryId, packageId } = route.useParams()
  const [{ q, sort }, change] = usePageSearch(versionsSearch)
  const text = q?.trim()
  const repository = useActionState('repositories_GetDetails', { repositoryId }).data
  const { data: details, error } = useActionState('repositories_GetPackageDetails', { packageId })
  const list = useActionPages('repositories_QueryPackageVersions', {
    packageId,
    limit: LIST_PAGE_SIZE,
    ...(text && { filter: { text } }),
    sort,
  })
  // The URL and the commands name the repository, so a package of another repository counts as not found.
  if (details && details.repositoryId !== repositoryId) {
    return <Absent reason="The package belongs to another repository." />
  }
  // The package may be deleted while its page is open.
  if (isAbsent(error)) return <Absent reason={error} />
  const name = details?.name ?? packageId
  const path = [repository?.publicName ?? repositoryId, name] as const
  const versions = list.data?.pages.flatMap(page => page.versions)
  const isEmpty = versions?.length === 0 && !text && !list.isPlaceholderData
  return (
    <ListPage
      crumb={
        <Breadcrumb
          links={[
            <Link key="packages" from="/org_{$organization}/repositories/$repositoryId" to="./packages">
              Packages
            </Link>,
          ]}
          here={details?.name}
        />
      }
      title={details?.name ?? (error ? packageId : undefined)}
      what="versions"
      list={list}
      shown={versions?.length}
    >
      <Commands
        title="Versions are created and tagged with the command-line tool."
        open={isEmpty}
        commands={[createVersionCommand(...path), uploadCommand(...path)]}
      />
      {isEmpty ? (
        <EmptyState icon={Tags} title="No versions.">
          Create the first one with the commands above.
        </EmptyState>
      ) : (
        <>
          <div className="tools">
            <FilterBox
              value={q ?? ''}
              onChange={value => change({ q: value })}
              label="Filter versions"
              placeholder="Filter by tag, name or id"
            />
          </div>
          <Table
            caption="Versions"
            columns={COLUMNS}
            sort={sort}
            onSort={next => change({ sort: next })}
            rows={versions?.map(version => (
              <VersionRow key={version.versionId} version={version} match={text} />
            ))}
            none={<NoMatch what="versions" onClear={() => change({ q: '' })} />}
          />
        </>
      )}
    </ListPage>
  )
}

const COLUMNS: readonly Column[] = [
  { name: 'Id', kind: 'title' },
  { name: 'Created At', sort: 'createdAt' },
  { name: 'Tags' },
  ACTIONS,
]

type Version = ActionOutput<'repositories_QueryPackageVersions'>['versions'][number]

type VersionRowProps = { version: Version; match: string | undefined }

function VersionRow({ version: { versionId, createdAt, name, tags }, match }: VersionRowProps) {
  return (
    <Row>
      <Cell>
        <div className="stack tight">
          {name && <span className="break-anywhere">{name}</span>}
          <Id id={versionId} what="version id" />
        </div>
      </Cell>
      <Cell>
        <Time at={createdAt} />
      </Cell>
      <Cell>{tags.length > 0 && <TagList tags={tags} most={ROW_TAGS} match={match} />}</Cell>
      <Cell>
        <LinkButton from={FROM} to="./versions/$versionId" params={{ versionId }} variant="ghost" size="sm">
          View<span className="visually-hidden"> {name ?? versionId}</span>
        </LinkButton>
      </Cell>
    </Row>
  )
}
