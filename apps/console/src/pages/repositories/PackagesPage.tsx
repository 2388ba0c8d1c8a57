import { getRouteApi, Link } from '@tanstack/react-router'
import { Package } from 'lucide-react'
import { usePublicUrl } from '../../api/config.ts'
import { useActionPages, useActionState } from '../../api/queries.ts'
import {
  createPackageCommand,
  createVersionCommand,
  logInCommand,
  uploadCommand,
} from '../../lib/app/cli-commands.ts'
import { useChangeSearch } from '../../lib/app/search.ts'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { ListTable } from '../../ui/app/ListTable.tsx'
import { ActionsHead, Cell, Row, SortHead } from '../../ui/app/Table.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { Commands } from './Commands.tsx'
import { LIST_PAGE_SIZE, type ListSearch } from './list-search.ts'

const FROM = '/org_{$organization}/repositories/$repositoryId/packages'

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId/packages')

/** The packages of a repository, sorted by name, and the CLI commands that manage packages. */
export function PackagesPage() {
  const { repositoryId } = route.useParams()
  const { q, sort } = route.useSearch()
  const change = useChangeSearch<ListSearch>()
  const publicUrl = usePublicUrl()
  const text = q?.trim()
  const order = sort === '-name' ? sort : undefined
  const repository = useActionState('repositories_GetDetails', { repositoryId }).data
  const list = useActionPages('repositories_QueryPackages', {
    repositoryId,
    limit: LIST_PAGE_SIZE,
    ...(text && { filter: { text } }),
    ...(order && { sort: order }),
  })
  const packages = list.data?.pages.flatMap(page => page.packages)
  const isEmpty = packages?.length === 0 && !text && !list.isPlaceholderData
  const path = repository?.publicName ?? repositoryId
  return (
    <ListPage title="Packages" what="packages" list={list} shown={packages?.length}>
      <Commands
        title="Packages can currently only be managed through the command-line tool."
        open={isEmpty}
        commands={[
          logInCommand(publicUrl),
          createPackageCommand(path),
          createVersionCommand(path),
          uploadCommand(path),
        ]}
      />
      {isEmpty ? (
        <EmptyState icon={Package} title="No packages yet.">
          Create the first one with the commands above.
        </EmptyState>
      ) : (
        <>
          <div className="tools">
            <FilterBox
              value={q ?? ''}
              onChange={value => change({ q: value })}
              label="Filter packages"
              placeholder="Filter by name or id"
            />
          </div>
          <ListTable
            caption="Packages"
            what="packages"
            columns={2}
            head={
              <tr>
                <SortHead field="name" sort={order ?? 'name'} onSort={next => change({ sort: next })}>
                  Name
                </SortHead>
                <ActionsHead />
              </tr>
            }
            rows={packages?.map(({ packageId, name }) => (
              <Row key={packageId}>
                <Cell>
                  <Link from={FROM} to="./$packageId" params={{ packageId }} className="nm lines">
                    {name}
                  </Link>
                </Cell>
                <Cell end>
                  <LinkButton from={FROM} to="./$packageId" params={{ packageId }} variant="ghost" size="sm">
                    View<span className="sr"> {name}</span>
                  </LinkButton>
                </Cell>
              </Row>
            ))}
            onClear={() => change({ q: '' })}
          />
        </>
      )}
    </ListPage>
  )
}
