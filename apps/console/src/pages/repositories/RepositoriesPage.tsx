import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi, Link, useParams } from '@tanstack/react-router'
import { Package } from 'lucide-react'
import { useState } from 'react'
import { useActionPages } from '../../api/queries.ts'
import { counted } from '../../lib/app/format.ts'
import { anyText, usePageSearch } from '../../lib/app/search.ts'
import { organizationIdOf } from '../../organization.ts'
import { CreateButton } from '../../ui/app/CreateButton.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NoCardMatches } from '../../ui/app/NoMatch.tsx'
import { Card, CardFoot, CardSkeletons } from '../../ui/lazy/Card.tsx'
import { CardGrid } from '../../ui/lazy/CardGrid.tsx'
import { Main } from '../../ui/Main.tsx'
import { NewRepositoryDialog } from './NewRepositoryDialog.tsx'
import { VisibilityBadge } from './VisibilityBadge.tsx'

const PAGE_SIZE = 60

/** Search parameters of the list of repositories. */
export const repositoriesSearch = { q: anyText }

const route = getRouteApi('/authenticated/org_{$organization}/repositories')

/** The repositories of an organization as cards. */
export function RepositoriesPage() {
  const organizationId = organizationIdOf(route.useParams())
  const [{ q = '' }, change] = usePageSearch(repositoriesSearch)
  const [isCreating, setCreating] = useState(false)
  const text = q.trim()
  const list = useActionPages('organizations_QueryRepositories', {
    organizationId,
    limit: PAGE_SIZE,
    withDetails: true,
    ...(text && { filter: { text } }),
  })
  const repositories = list.data?.pages.flatMap(page => page.repositories)
  // While the list for another filter text loads, the filter box stays, because the user may be typing in it.
  const isFiltered = text !== '' || list.isPlaceholderData
  const isEmpty = repositories?.length === 0
  const createButton = (
    <CreateButton onClick={() => setCreating(true)} iconOnPhones={!isEmpty || isFiltered}>
      New Repository
    </CreateButton>
  )
  return (
    <Main>
      <ListPage
        title="Repositories"
        what="repositories"
        width="grid"
        list={list}
        shown={repositories?.length}
        actions={
          (isFiltered || !isEmpty) && (
            <>
              <FilterBox
                value={q}
                onChange={value => change({ q: value })}
                label="Filter repositories"
                placeholder="Filter by name or id"
              />
              {createButton}
            </>
          )
        }
      >
        {isEmpty && !isFiltered && (
          <EmptyState icon={Package} title="Create your first repository" action={createButton}>
            A repository holds packages of software, whose versions devices download.
          </EmptyState>
        )}
        {isEmpty && isFiltered && <NoCardMatches what="repositories" onClear={() => change({ q: '' })} />}
        {!isEmpty && (repositories || !list.error) && (
          <CardGrid
            low
            busyLabel={repositories && !list.isPlaceholderData ? undefined : 'Loading repositories'}
          >
            {repositories?.map(repository => (
              <RepositoryCard key={repository.repositoryId} {...repository} />
            )) ?? <CardSkeletons />}
          </CardGrid>
        )}
      </ListPage>
      {isCreating && (
        <NewRepositoryDialog organizationId={organizationId} onClose={() => setCreating(false)} />
      )}
    </Main>
  )
}

type RepositoryCardProps = ActionOutput<'organizations_QueryRepositories'>['repositories'][number]

/** A card with a repository's name, id, visibility and size. */
function RepositoryCard({ repositoryId, name, details }: RepositoryCardProps) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}' })
  return (
    <Card
      title={
        <Link to="/org_{$organization}/repositories/$repositoryId" params={{ organization, repositoryId }}>
          {name}
        </Link>
      }
      badge={details && <VisibilityBadge visibility={details.visibility} />}
      id={<Id id={repositoryId} what="repository id" />}
    >
      {details && (
        <CardFoot end={counted(details.assetCount, 'asset')}>
          <span>{counted(details.packageCount, 'package')}</span>
        </CardFoot>
      )}
    </Card>
  )
}
