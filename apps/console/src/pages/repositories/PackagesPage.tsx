import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Package } from 'lucide-react'
import { usePublicUrl } from '../../api/config.ts'
import { useActionPages, useActionState } from '../../api/queries.ts'
import {
  createPackageCommand,
  createVersionCommand,
  logInCommand,
  uploadCommand,
} from '../../lib/cli-commands.ts'
import { withoutEmpty } from '../../lib/search.ts'
import { Button } from '../../ui/Button.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { FilterBox } from '../../ui/FilterBox.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { ListPage } from '../../ui/ListPage.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { Cell, Row, SortHead, Table } from '../../ui/Table.tsx'
import { Commands } from './Commands.tsx'
import { LIST_PAGE_SIZE, type ListSearch } from './list-search.ts'

const FROM = '/org_{$organization}/repositories/$repositoryId/packages'
const COLUMNS = 2

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId/packages')

/** Packages of a repository by name, and the commands that manage them. */
export function PackagesPage() {
  const { repositoryId } = route.useParams()
  const { q, sort } = route.useSearch()
  const navigate = useNavigate({ from: FROM })
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
  const isEmpty = packages?.length === 0 && !text
  const path = repository?.publicName ?? repositoryId
  const change = (next: ListSearch) =>
    void navigate({
      search: current => withoutEmpty<ListSearch>({ ...current, ...next }),
      replace: true,
      resetScroll: false,
    })
  return (
    <ListPage
      title="Packages"
      what="packages"
      list={list}
      shown={packages?.length}
      total={list.data?.pages[0]?.total}
    >
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
          <Table
            caption="Packages"
            busy={!packages}
            rowsOnPhones
            head={
              <tr>
                <SortHead field="name" sort={order ?? 'name'} onSort={next => change({ sort: next })}>
                  Name
                </SortHead>
                <th scope="col">
                  <span className="sr">Actions</span>
                </th>
              </tr>
            }
          >
            {packages?.map(({ packageId, name }) => (
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
            )) ?? <SkeletonRows columns={COLUMNS} />}
            {packages?.length === 0 && (
              <Row>
                <Cell span={COLUMNS}>
                  No packages match this filter.{' '}
                  <Button size="sm" variant="ghost" onClick={() => change({ q: '' })}>
                    Clear
                  </Button>
                </Cell>
              </Row>
            )}
          </Table>
        </>
      )}
    </ListPage>
  )
}
