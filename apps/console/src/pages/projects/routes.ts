import { createRoute, redirect } from '@tanstack/react-router'
import { actionPagesQuery, actionQuery } from '../../api/queries.ts'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { EntityError } from '../../ui/EntityError.tsx'
import { NotFound } from '../../ui/NotFound.tsx'
import { organization } from '../organizations/routes.ts'
import type { linkedRepositoriesSearch } from './LinkedRepositoriesPage.tsx'
import type { projectsSearch } from './ProjectsPage.tsx'
import type { tokensSearch } from './tokens/TokensPage.tsx'
import { tokensInput } from './tokens/tokens-input.ts'

/** The list of projects, a child of `organization`. */
export const projects = createRoute({
  getParentRoute: () => organization,
  path: 'projects',
  validateSearch: searchTexts<typeof projectsSearch>,
  component: lazyPage(() => import('./ProjectsPage.tsx'), 'ProjectsPage'),
  errorComponent: EntityError,
})

/** Parent of all pages of a project. */
export const project = createRoute({
  getParentRoute: () => organization,
  path: 'projects/$projectId',
  loader: ({ context, params: { projectId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('projects_GetDetails', { projectId }))
  },
  component: lazyPage(() => import('./ProjectLayout.tsx'), 'ProjectLayout'),
  notFoundComponent: NotFound,
})

const projectIndex = createRoute({
  getParentRoute: () => project,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/org_{$organization}/projects/$projectId/devices', params, replace: true })
  },
})

const tokens = createRoute({
  getParentRoute: () => project,
  path: 'tokens',
  validateSearch: searchTexts<typeof tokensSearch>,
  loader: ({ context, params: { projectId }, location }) => {
    // Prefetches only the unfiltered list. The page loads a filtered list itself.
    if (Object.keys(location.search).length > 0) return
    void context.queryClient.prefetchInfiniteQuery(
      actionPagesQuery('projects_QueryDeploymentTokens', tokensInput(projectId)),
    )
  },
  component: lazyPage(() => import('./tokens/TokensPage.tsx'), 'TokensPage'),
})

const linkedRepositories = createRoute({
  getParentRoute: () => project,
  path: 'repositories',
  validateSearch: searchTexts<typeof linkedRepositoriesSearch>,
  component: lazyPage(() => import('./LinkedRepositoriesPage.tsx'), 'LinkedRepositoriesPage'),
})

const projectSettings = createRoute({
  getParentRoute: () => project,
  path: 'settings',
  component: lazyPage(() => import('./ProjectSettingsPage.tsx'), 'ProjectSettingsPage'),
})

/** Children of `project`. */
export const projectRoutes = [projectIndex, tokens, linkedRepositories, projectSettings] as const
