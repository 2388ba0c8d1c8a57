import { getRouteApi } from '@tanstack/react-router'
import { Package, Plus } from 'lucide-react'
import { useState } from 'react'
import { useActionPages } from '../../api/queries.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { useChangeSearch } from '../../lib/search.ts'
import { useDebounced } from '../../lib/use-debounced.ts'
import { organizationIdOf } from '../../organization.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { CardGrid } from '../../ui/CardGrid.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Main } from '../../ui/Main.tsx'
import { Page, PageHead } from '../../ui/Page.tsx'
import { RouteError } from '../../ui/RouteError.tsx'
import { SearchBox } from '../../ui/SearchBox.tsx'
import { CreateProjectDialog } from './CreateProjectDialog.tsx'
import { ProjectCard, ProjectCardSkeleton } from './ProjectCard.tsx'
import { ProjectStats } from './ProjectStats.tsx'

const PAGE_SIZE = 60
/** Most projects whose devices are summed up above the grid. */
const MOST_SUMMED_UP = 24

const route = getRouteApi('/authenticated/org_{$organization}/projects')

/** Projects of an organization as cards. */
export function ProjectsPage() {
  const organizationId = organizationIdOf(route.useParams())
  const { q = '' } = route.useSearch()
  const change = useChangeSearch<{ q?: string }>()
  const [isCreating, setCreating] = useState(false)
  const text = useDebounced(q.trim())
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isPlaceholderData } =
    useActionPages('organizations_QueryProjects', {
      organizationId,
      limit: PAGE_SIZE,
      ...(text && { filter: { text } }),
    })

  if (error && !data) return <RouteError error={error} reset={() => void refetch()} />
  const projects = data?.pages.flatMap(page => page.projects)
  const total = data?.pages[0]?.total
  const isFiltered = text !== '' || q !== ''
  const isEmpty = projects?.length === 0
  const isSummedUp = projects && !isFiltered && !isEmpty && !hasNextPage && projects.length <= MOST_SUMMED_UP
  function clear() {
    // The button goes with the filter.
    focusHeading()
    change({ q: '' })
  }
  const createButton = (
    <Button variant="primary" icon={Plus} onClick={() => setCreating(true)}>
      Create Project
    </Button>
  )
  return (
    <Main>
      <Page width="grid">
        <PageHead title="Projects" count={total}>
          {(isFiltered || !isEmpty) && (
            <SearchBox
              value={q}
              label="Filter projects"
              placeholder="Filter by name or id"
              onChange={value => change({ q: value })}
            />
          )}
          {(isFiltered || !isEmpty) && createButton}
        </PageHead>
        {error && (
          <Alert tone="warn" title="The list could not be updated.">
            <ErrorText error={error} />
          </Alert>
        )}
        {isSummedUp && <ProjectStats projectIds={projects.map(({ projectId }) => projectId)} />}
        {isEmpty && !isFiltered && (
          <EmptyState icon={Package} title="Create your first project" action={createButton}>
            A project holds devices and their deployment tokens.
          </EmptyState>
        )}
        {isEmpty && isFiltered && (
          <EmptyState
            icon={Package}
            title="No projects match this filter."
            action={<Button onClick={clear}>Clear</Button>}
          />
        )}
        {!isEmpty && (
          <CardGrid busyLabel={projects && !isPlaceholderData ? undefined : 'Loading projects'}>
            {projects?.map(project => (
              <ProjectCard key={project.projectId} {...project} isShownAlways={Boolean(isSummedUp)} />
            )) ?? SKELETONS.map(key => <ProjectCardSkeleton key={key} />)}
          </CardGrid>
        )}
        {hasNextPage && (
          <LoadMore
            shown={projects?.length ?? 0}
            total={total}
            what="projects"
            busy={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          />
        )}
      </Page>
      <CreateProjectDialog
        organizationId={organizationId}
        open={isCreating}
        onClose={() => setCreating(false)}
      />
    </Main>
  )
}

const SKELETONS = [1, 2, 3, 4, 5, 6]
