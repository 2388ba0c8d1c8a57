import { createRoute, redirect } from '@tanstack/react-router'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { authenticated } from '../../root-routes.ts'
import { NotFound } from '../../ui/NotFound.tsx'
import type { allProjectsSearch } from './AllProjectsPage.tsx'
import type { jobsSearch } from './jobs/JobsPage.tsx'

/** Parent of the pages of the instance. */
export const admin = createRoute({
  getParentRoute: () => authenticated,
  path: '/admin',
  notFoundComponent: NotFound,
  component: lazyPage(() => import('./AdminLayout.tsx'), 'AdminLayout'),
})

const adminIndex = createRoute({
  getParentRoute: () => admin,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/admin/dashboard', replace: true })
  },
})

const dashboard = createRoute({
  getParentRoute: () => admin,
  path: 'dashboard',
  component: lazyPage(() => import('./dashboard/DashboardPage.tsx'), 'DashboardPage'),
})

const allProjects = createRoute({
  getParentRoute: () => admin,
  path: 'projects',
  validateSearch: searchTexts<typeof allProjectsSearch>,
  component: lazyPage(() => import('./AllProjectsPage.tsx'), 'AllProjectsPage'),
})

const jobs = createRoute({
  getParentRoute: () => admin,
  path: 'jobs',
  validateSearch: searchTexts<typeof jobsSearch>,
  component: lazyPage(() => import('./jobs/JobsPage.tsx'), 'JobsPage'),
})

const cluster = createRoute({
  getParentRoute: () => admin,
  path: 'cluster',
  component: lazyPage(() => import('./ClusterPage.tsx'), 'ClusterPage'),
})

/** Children of `admin`. */
export const instanceRoutes = [adminIndex, dashboard, allProjects, jobs, cluster] as const
