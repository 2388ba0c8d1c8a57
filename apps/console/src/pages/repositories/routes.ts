import { createRoute, redirect } from '@tanstack/react-router'
import { actionQuery } from '../../api/queries.ts'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { EntityError } from '../../ui/EntityError.tsx'
import { NotFound } from '../../ui/NotFound.tsx'
import { organization } from '../organizations/routes.ts'
import type { assetsSearch } from './AssetsPage.tsx'
import type { versionsSearch } from './PackagePage.tsx'
import type { packagesSearch } from './PackagesPage.tsx'
import type { repositoriesSearch } from './RepositoriesPage.tsx'

const repositories = createRoute({
  getParentRoute: () => organization,
  path: 'repositories',
  validateSearch: searchTexts<typeof repositoriesSearch>,
  component: lazyPage(() => import('./RepositoriesPage.tsx'), 'RepositoriesPage'),
  errorComponent: EntityError,
})

/** The short URL of a repository. */
const repositoryAlias = createRoute({
  getParentRoute: () => organization,
  path: 'repo_{$repository}',
  beforeLoad: ({ params: { organization, repository } }) => {
    throw redirect({
      to: '/org_{$organization}/repositories/$repositoryId',
      params: { organization, repositoryId: `repo_${repository}` },
      replace: true,
    })
  },
})

/** The repositories of an organization, children of `organization`. */
export const repositoriesRoutes = [repositories, repositoryAlias] as const

/** Parent of all pages of a repository. */
export const repository = createRoute({
  getParentRoute: () => organization,
  path: 'repositories/$repositoryId',
  loader: ({ context, params: { repositoryId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('repositories_GetDetails', { repositoryId }))
  },
  component: lazyPage(() => import('./RepositoryLayout.tsx'), 'RepositoryLayout'),
  notFoundComponent: NotFound,
})

const repositoryIndex = createRoute({
  getParentRoute: () => repository,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({
      to: '/org_{$organization}/repositories/$repositoryId/packages',
      params,
      replace: true,
    })
  },
})

const packages = createRoute({
  getParentRoute: () => repository,
  path: 'packages',
  validateSearch: searchTexts<typeof packagesSearch>,
  component: lazyPage(() => import('./PackagesPage.tsx'), 'PackagesPage'),
})

const softwarePackage = createRoute({
  getParentRoute: () => repository,
  path: 'packages/$packageId',
  validateSearch: searchTexts<typeof versionsSearch>,
  loader: ({ context, params: { packageId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('repositories_GetPackageDetails', { packageId }))
  },
  component: lazyPage(() => import('./PackagePage.tsx'), 'PackagePage'),
  errorComponent: EntityError,
})

const packageVersion = createRoute({
  getParentRoute: () => repository,
  path: 'packages/$packageId/versions/$versionId',
  loader: ({ context: { queryClient }, params: { packageId, versionId } }) => {
    void queryClient.prefetchQuery(actionQuery('repositories_GetVersionDetails', { versionId }))
    void queryClient.prefetchQuery(actionQuery('repositories_GetPackageDetails', { packageId }))
    void queryClient.prefetchQuery(actionQuery('repositories_GetVersionUsage', { versionId, history: true }))
  },
  component: lazyPage(() => import('./version/VersionPage.tsx'), 'VersionPage'),
  errorComponent: EntityError,
})

const assets = createRoute({
  getParentRoute: () => repository,
  path: 'assets',
  validateSearch: searchTexts<typeof assetsSearch>,
  component: lazyPage(() => import('./AssetsPage.tsx'), 'AssetsPage'),
})

const repositorySettings = createRoute({
  getParentRoute: () => repository,
  path: 'settings',
  loader: ({ context, params: { repositoryId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('repositories_GetS3Config', { repositoryId }))
  },
  component: lazyPage(() => import('./RepositorySettingsPage.tsx'), 'RepositorySettingsPage'),
})

/** Children of `repository`. */
export const repositoryRoutes = [
  repositoryIndex,
  packages,
  softwarePackage,
  packageVersion,
  assets,
  repositorySettings,
] as const
