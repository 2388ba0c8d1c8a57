import { useQueries, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { ChevronDown, MailOpen, Package } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { actionQuery, invalidateActions, useActionPages } from '../../api/queries.ts'
import { ageOf } from '../../lib/app/age.ts'
import { anyText, oneOf, usePageSearch } from '../../lib/app/search.ts'
import { loadCode } from '../../lib/load-code.ts'
import { organizationIdOf } from '../../organization.ts'
import { CreateButton } from '../../ui/app/CreateButton.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { LiveStamp } from '../../ui/app/LiveStamp.tsx'
import { Menu, MenuChoice } from '../../ui/app/Menu.tsx'
import { NoCardMatches } from '../../ui/app/NoMatch.tsx'
import { Settled } from '../../ui/app/Settled.tsx'
import { Button } from '../../ui/Button.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { CardSkeletons } from '../../ui/lazy/Card.tsx'
import { CardGrid } from '../../ui/lazy/CardGrid.tsx'
import { Main } from '../../ui/Main.tsx'
import { useInvitations } from '../accounts/shared/use-invitations.ts'
import { ProjectCard } from './ProjectCard.tsx'
import { FreshProjectStats, ProjectStats } from './ProjectStats.tsx'
import styles from './ProjectsPage.module.css'
import { PROJECT_ORDERS, PROJECT_STATES, type ProjectOrder, type ProjectState } from './project-states.ts'
import { summaryInput } from './summary.ts'

const CreateProjectDialog = lazy(async () => ({
  default: (await loadCode(() => import('./CreateProjectDialog.tsx'))).CreateProjectDialog,
}))

const PAGE_SIZE = 60
/**
 * Number of projects up to which the totals are sums of the cards' counts. For more projects, they are sums of stored counts, which are up
 * to 10 minutes old.
 */
const MOST_SUMMED_UP = 24

/** Search parameters of the list of projects. */
export const projectsSearch = {
  q: anyText,
  sort: oneOf(
    PROJECT_ORDERS.map(({ value }) => value),
    'problems',
  ),
  state: oneOf(Object.keys(PROJECT_STATES) as ProjectState[]),
}

const route = getRouteApi('/authenticated/org_{$organization}/projects')

/** The projects of an organization as cards. */
export function ProjectsPage() {
  const organizationId = organizationIdOf(route.useParams())
  const [{ q = '', sort, state }, change] = usePageSearch(projectsSearch)
  const queryClient = useQueryClient()
  const [isCreating, setCreating] = useState(false)
  const text = q.trim()
  const list = useActionPages('organizations_QueryProjects', {
    organizationId,
    limit: PAGE_SIZE,
    sort,
    totals: true,
    ...((text || state) && { filter: { ...(text && { text }), ...(state && { state }) } }),
  })
  const refetch = () => invalidateActions(queryClient, ['organizations_QueryProjects', 'projects_GetSummary'])
  const projects = list.data?.pages.flatMap(page => page.projects)
  // While the list for another filter text loads, the filter box stays, because the user may be typing in it.
  const isFiltered = text !== '' || state !== undefined || list.isPlaceholderData
  const isEmpty = projects?.length === 0
  const isSummedUp =
    projects && !isFiltered && !isEmpty && !list.hasNextPage && projects.length <= MOST_SUMMED_UP
  const totals = list.data?.pages[0]?.totals
  const createButton = <CreateButton onClick={() => setCreating(true)}>Create Project</CreateButton>
  return (
    <Main>
      <ListPage
        title="Projects"
        what="projects"
        width="grid"
        list={{ ...list, refetch }}
        shown={projects?.length}
        stamp={<Stamp list={list} projectIds={projects?.map(({ projectId }) => projectId) ?? []} />}
        actions={
          (isFiltered || !isEmpty) && (
            <>
              <FilterBox
                value={q}
                label="Filter projects"
                placeholder="Filter by name or id"
                onChange={value => change({ q: value })}
              />
              <SortMenu value={sort} onChange={value => change({ sort: value })} />
              {createButton}
            </>
          )
        }
      >
        {isSummedUp ? (
          <FreshProjectStats projectIds={projects.map(({ projectId }) => projectId)} />
        ) : (
          !isEmpty && !list.error && text === '' && <ProjectStats totals={totals} />
        )}
        {state && (
          <div className="tools">
            <span className="secondary">{PROJECT_STATES[state]}.</span>
            <Button size="sm" onClick={() => change({ state: undefined })}>
              All projects
            </Button>
          </div>
        )}
        {isEmpty && !isFiltered && (
          <div className="stack">
            <InvitationHint />
            <EmptyState icon={Package} title="Create your first project" action={createButton}>
              A project holds devices and their deployment tokens.
            </EmptyState>
          </div>
        )}
        {isEmpty && isFiltered && (
          <NoCardMatches what="projects" onClear={() => change({ q: '', state: undefined })} />
        )}
        {!isEmpty && (projects || !list.error) && (
          <Settled
            label="Loading projects"
            skeleton={
              <CardGrid>
                <CardSkeletons />
              </CardGrid>
            }
          >
            {projects && (
              <CardGrid busyLabel={list.isPlaceholderData ? 'Loading projects' : undefined}>
                {projects.map(project => (
                  <ProjectCard key={project.projectId} {...project} isShownAlways={Boolean(isSummedUp)} />
                ))}
              </CardGrid>
            )}
          </Settled>
        )}
      </ListPage>
      <Suspense>
        {isCreating && (
          <CreateProjectDialog organizationId={organizationId} onClose={() => setCreating(false)} />
        )}
      </Suspense>
    </Main>
  )
}

type SortMenuProps = { value: ProjectOrder; onChange: (value: ProjectOrder) => void }

function SortMenu({ value, onChange }: SortMenuProps) {
  const label = PROJECT_ORDERS.find(order => order.value === value)!.label
  return (
    <Menu
      align="end"
      trigger={
        <button type="button" className={`button ${styles.sort}`}>
          <span>Sort</span> {label}
          <ChevronDown className="icon small-icon" aria-hidden />
        </button>
      }
    >
      <MenuChoice label="Sort" value={value} options={PROJECT_ORDERS} onChange={onChange} />
    </Menu>
  )
}

type StampProps = { list: { dataUpdatedAt: number; errorUpdatedAt: number }; projectIds: string[] }

/** Time of the last refresh of the page: of the list and of the queries of its cards. */
function Stamp({ list, projectIds }: StampProps) {
  const summaries = useQueries({
    queries: projectIds.map(projectId => ({
      ...actionQuery('projects_GetSummary', summaryInput(projectId)),
      enabled: false,
    })),
  })
  const age = ageOf([list, ...summaries])
  return <LiveStamp {...(age ?? { updatedAt: 0 })} />
}

/** Names the organization that invites the signed-in user, with a link to the invitations. Renders nothing without an invitation. */
function InvitationHint() {
  const { invitations: [newest] = [], total = 1 } = useInvitations() ?? {}
  if (!newest) return null
  const others = total > 1 ? ` and ${total - 1} more` : ''
  return (
    <EmptyState
      icon={MailOpen}
      title={`You are invited to ${newest.organization.name}${others}`}
      action={<LinkButton to="/user/invitations">View {total > 1 ? 'invitations' : 'invitation'}</LinkButton>}
    >
      Accept the invitation to work with the projects and repositories of the organization.
    </EmptyState>
  )
}
