import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Package, Unlink } from 'lucide-react'
import { useActionPages, useCommand } from '../../api/queries.ts'
import { anyText, usePageSearch } from '../../lib/app/search.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { ACTIONS, Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import { LinkRepositoryForm } from './LinkRepositoryForm.tsx'

const PAGE_SIZE = 100
/** Minimum number of repositories for a filter box above the list. */
const FILTER_FROM = 20

/** Search parameters of the list of linked repositories. */
export const linkedRepositoriesSearch = { q: anyText }

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/repositories')

/** Repositories that the devices of a project may read, with the form that links another repository. */
export function LinkedRepositoriesPage() {
  const { projectId } = route.useParams()
  const [{ q }, change] = usePageSearch(linkedRepositoriesSearch)
  const text = q?.trim()
  const list = useActionPages('projects_QueryLinkedRepositories', {
    projectId,
    limit: PAGE_SIZE,
    ...(text && { filter: { text } }),
  })
  const repositories = list.data?.pages.flatMap(page => page.repositories)
  const total = list.data?.pages[0]?.total
  // While the list for another filter text loads, the filter box stays, because the user may be typing in it.
  const isFiltered = text !== undefined || list.isPlaceholderData
  return (
    <ListPage
      title="Repositories"
      what="repositories"
      list={list}
      shown={repositories?.length}
      actions={
        (isFiltered || (total ?? 0) >= FILTER_FROM) && (
          <FilterBox
            value={q ?? ''}
            onChange={value => change({ q: value })}
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
      {repositories?.length === 0 && !isFiltered ? (
        <EmptyState icon={Package} title="No repository linked.">
          Devices of this project download from linked repositories.
        </EmptyState>
      ) : (
        <Table
          caption="Linked repositories"
          columns={COLUMNS}
          bars={4}
          rows={repositories?.map(repository => (
            <LinkedRow key={repository.repositoryId} projectId={projectId} repository={repository} />
          ))}
          none={<NoMatch what="repositories" onClear={() => change({ q: '' })} />}
        />
      )}
    </ListPage>
  )
}

const COLUMNS: readonly Column[] = [{ name: 'Name', kind: 'title' }, { name: 'Id' }, ACTIONS]

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
          className="name lines"
        >
          {name}
        </Link>
      </Cell>
      <Cell>
        <Id id={repositoryId} what="repository id" />
      </Cell>
      <Cell>
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
