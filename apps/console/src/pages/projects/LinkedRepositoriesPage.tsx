import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Package, Unlink } from 'lucide-react'
import { useActionPages, useCommand } from '../../api/queries.ts'
import { focusHeading } from '../../shell/use-route-focus.ts'
import { Button } from '../../ui/Button.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { FilterBox } from '../../ui/FilterBox.tsx'
import { IconButton } from '../../ui/IconButton.tsx'
import { Id } from '../../ui/Id.tsx'
import { ListPage } from '../../ui/ListPage.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { Cell, Row, Table } from '../../ui/Table.tsx'
import { toast, toastError } from '../../ui/toast.ts'
import { LinkRepositoryForm } from './LinkRepositoryForm.tsx'

const PAGE_SIZE = 100
const COLUMNS = 3
/** Fewer repositories need no filter. */
const FILTER_FROM = 20

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/repositories')

/** Repositories that the devices of a project may read, and the way to more. */
export function LinkedRepositoriesPage() {
  const { projectId } = route.useParams()
  const { q } = route.useSearch()
  const navigate = useNavigate({ from: '/org_{$organization}/projects/$projectId/repositories' })
  const text = q?.trim()
  const list = useActionPages('projects_QueryLinkedRepositories', {
    projectId,
    limit: PAGE_SIZE,
    ...(text && { filter: { text } }),
  })
  const repositories = list.data?.pages.flatMap(page => page.repositories)
  const total = list.data?.pages[0]?.total
  const filter = (value: string) =>
    void navigate({ search: value ? { q: value } : {}, replace: true, resetScroll: false })
  return (
    <ListPage
      title="Repositories"
      what="repositories"
      list={list}
      shown={repositories?.length}
      total={total}
      actions={
        (text || (total ?? 0) >= FILTER_FROM) && (
          <FilterBox
            value={q ?? ''}
            onChange={filter}
            label="Filter linked repositories"
            placeholder="Filter by name or id"
          />
        )
      }
    >
      <LinkRepositoryForm
        projectId={projectId}
        linkedIds={repositories?.map(({ repositoryId }) => repositoryId) ?? []}
      />
      {repositories?.length === 0 && !text ? (
        <EmptyState icon={Package} title="No repository linked.">
          Devices of this project download from linked repositories.
        </EmptyState>
      ) : (
        <Table caption="Linked repositories" head={HEAD} busy={!repositories} rowsOnPhones>
          {repositories?.map(repository => (
            <LinkedRow key={repository.repositoryId} projectId={projectId} repository={repository} />
          )) ?? <SkeletonRows columns={COLUMNS} rows={4} />}
          {repositories?.length === 0 && (
            <Row>
              <Cell span={COLUMNS}>
                No repositories match this filter.{' '}
                <Button size="sm" variant="ghost" onClick={() => filter('')}>
                  Clear
                </Button>
              </Cell>
            </Row>
          )}
        </Table>
      )}
    </ListPage>
  )
}

const HEAD = (
  <tr>
    <th scope="col">Name</th>
    <th scope="col">Id</th>
    <th scope="col">
      <span className="sr">Actions</span>
    </th>
  </tr>
)

type LinkedRowProps = {
  projectId: string
  repository: ActionOutput<'projects_QueryLinkedRepositories'>['repositories'][number]
}

function LinkedRow({ projectId, repository: { repositoryId, name } }: LinkedRowProps) {
  const { organization } = route.useParams()
  const unlink = useCommand('projects_UnlinkRepository', {
    invalidates: ['projects_QueryLinkedRepositories'],
  })

  async function unlinkRepository() {
    try {
      await unlink.mutateAsync({ projectId, repositoryId })
      toast(`Repository ${name} unlinked.`)
      focusHeading()
    } catch (error) {
      toastError('Could not unlink the repository', error)
    }
  }

  return (
    <Row>
      <Cell>
        <Link
          to="/org_{$organization}/repositories/$repositoryId"
          params={{ organization, repositoryId }}
          className="nm lines"
        >
          {name}
        </Link>
      </Cell>
      <Cell label="Id">
        <Id id={repositoryId} what="repository id" />
      </Cell>
      <Cell end>
        <IconButton
          label={`Unlink ${name}`}
          icon={Unlink}
          size="sm"
          busy={unlink.isPending}
          onClick={() => void unlinkRepository()}
        />
      </Cell>
    </Row>
  )
}
