import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  parseSearchWith,
  redirect,
  stringifySearchWith,
} from '@tanstack/react-router'
import { loadConfig } from './api/config.ts'
import { actionPagesQuery, actionQuery } from './api/queries.ts'
import type { anyText } from './lib/app/search.ts'
import { lazyPage } from './lib/load-code.ts'
import { searchTexts } from './lib/search-texts.ts'
import {
  currentOrganizationId,
  organizationIdOf,
  organizationParam,
  setCurrentOrganizationId,
} from './organization.ts'
import type { usersSearch } from './pages/accounts/UsersPage.tsx'
import type { pendingSearch } from './pages/approvals/pending-search.ts'
import type { auditSearch } from './pages/audit/audit-search.ts'
import type { deviceSearch } from './pages/devices/detail/connection/ranges.ts'
import { propertiesQuery } from './pages/devices/detail/device-queries.ts'
import type { eventsSearch } from './pages/devices/detail/timeline/EventsPage.tsx'
import type { timelineSearch } from './pages/devices/detail/timeline/TimelinePage.tsx'
import { allDevicesInput } from './pages/devices/list/all-devices-input.ts'
import type { devicesSearch } from './pages/devices/list/device-search.ts'
import type { allProjectsSearch } from './pages/instance/AllProjectsPage.tsx'
import type { jobsSearch } from './pages/instance/jobs/JobsPage.tsx'
import type { linkedRepositoriesSearch } from './pages/projects/LinkedRepositoriesPage.tsx'
import type { projectsSearch } from './pages/projects/ProjectsPage.tsx'
import type { tokensSearch } from './pages/projects/tokens/TokensPage.tsx'
import { tokensInput } from './pages/projects/tokens/tokens-input.ts'
import type { assetsSearch } from './pages/repositories/AssetsPage.tsx'
import type { versionsSearch } from './pages/repositories/PackagePage.tsx'
import type { packagesSearch } from './pages/repositories/PackagesPage.tsx'
import type { repositoriesSearch } from './pages/repositories/RepositoriesPage.tsx'
import { loadSession } from './session.ts'
import { OrganizationScope } from './shell/OrganizationScope.tsx'
import { Root, RootNotFound } from './shell/Root.tsx'
import { EntityError } from './ui/EntityError.tsx'
import { NotFound } from './ui/NotFound.tsx'
import { PagePending } from './ui/PagePending.tsx'
import { RouteError } from './ui/RouteError.tsx'

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  // The banner is at the top of every page: it would move the page if it came later.
  loader: ({ context }) => loadConfig(context.queryClient),
  staleTime: Number.POSITIVE_INFINITY,
  component: Root,
  notFoundComponent: RootNotFound,
})

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: searchTexts<{ redirect: typeof anyText }>,
  component: lazyPage(() => import('./pages/login/LoginPage.tsx'), 'LoginPage'),
})

const signup = createRoute({
  getParentRoute: () => root,
  path: '/signup/',
  validateSearch: searchTexts<{ invitation: typeof anyText }>,
  component: lazyPage(() => import('./pages/signup/SignupPage.tsx'), 'SignupPage'),
})

const verify = createRoute({
  getParentRoute: () => root,
  path: '/signup/verify',
  validateSearch: searchTexts<{ jwt: typeof anyText }>,
  component: lazyPage(() => import('./pages/signup/VerifyPage.tsx'), 'VerifyPage'),
})

const confirmEmail = createRoute({
  getParentRoute: () => root,
  path: '/confirm-email',
  component: lazyPage(() => import('./pages/signup/ConfirmEmailPage.tsx'), 'ConfirmEmailPage'),
})

const resetPassword = createRoute({
  getParentRoute: () => root,
  path: '/reset-password',
  component: lazyPage(() => import('./pages/login/ResetPasswordPage.tsx'), 'ResetPasswordPage'),
})

const setPassword = createRoute({
  getParentRoute: () => root,
  path: '/set-password',
  validateSearch: searchTexts<{ jwt: typeof anyText }>,
  component: lazyPage(() => import('./pages/login/SetPasswordPage.tsx'), 'SetPasswordPage'),
})

const designSystem = createRoute({
  getParentRoute: () => root,
  path: '/design-system',
  component: lazyPage(() => import('./pages/design-system/DesignSystemPage.tsx'), 'DesignSystemPage'),
})

const shell = lazyPage(() => import('./shell/app/Shell.tsx'), 'Shell')

/** Parent of all routes that need a signed-in user. */
const authenticated = createRoute({
  getParentRoute: () => root,
  id: 'authenticated',
  beforeLoad: async ({ context, location }) => {
    // Loads the code of the shell while the session is requested.
    void shell.preload?.()
    try {
      return { userId: await loadSession(context.queryClient) }
    } catch {
      throw redirect({ to: '/login', search: { redirect: location.href } })
    }
  },
  component: shell,
})

const home = createRoute({
  getParentRoute: () => authenticated,
  path: '/',
  beforeLoad: async ({ context: { queryClient, userId } }) => {
    const { organizations } = await queryClient.fetchQuery(
      actionQuery('users_QueryOrganizations', { userId }),
    )
    const currentId = currentOrganizationId(userId)
    const target =
      organizations.find(({ organizationId }) => organizationId === currentId) ?? organizations[0]
    if (target) {
      const params = { organization: organizationParam(target.organizationId) }
      throw redirect({ to: '/org_{$organization}', params, replace: true })
    }
  },
  component: lazyPage(() => import('./pages/organizations/NoOrganizationPage.tsx'), 'NoOrganizationPage'),
})

const organization = createRoute({
  getParentRoute: () => authenticated,
  path: '/org_{$organization}',
  beforeLoad: ({ context, params, preload }) => {
    if (!preload) setCurrentOrganizationId(context.userId, organizationIdOf(params))
  },
  component: OrganizationScope,
  notFoundComponent: NotFound,
})

const organizationIndex = createRoute({
  getParentRoute: () => organization,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/org_{$organization}/projects', params, replace: true })
  },
})

const projects = createRoute({
  getParentRoute: () => organization,
  path: 'projects',
  validateSearch: searchTexts<typeof projectsSearch>,
  component: lazyPage(() => import('./pages/projects/ProjectsPage.tsx'), 'ProjectsPage'),
})

const project = createRoute({
  getParentRoute: () => organization,
  path: 'projects/$projectId',
  loader: ({ context, params: { projectId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('projects_GetDetails', { projectId }))
  },
  component: lazyPage(() => import('./pages/projects/ProjectLayout.tsx'), 'ProjectLayout'),
  notFoundComponent: NotFound,
})

const projectIndex = createRoute({
  getParentRoute: () => project,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/org_{$organization}/projects/$projectId/devices', params, replace: true })
  },
})

const devices = createRoute({
  getParentRoute: () => project,
  path: 'devices',
  validateSearch: searchTexts<typeof devicesSearch>,
  loader: ({ context: { queryClient }, params: { projectId }, location }) => {
    const first = actionPagesQuery('projects_QueryDevices', allDevicesInput(projectId))
    // Prefetches the list if the URL has no search parameters and the list is not cached. A list with a filter or sort order is loaded
    // by the page.
    const isAsked = Object.keys(location.search).length > 0 || queryClient.getQueryData(first.queryKey)
    if (!isAsked) void queryClient.prefetchInfiniteQuery(first)
    void queryClient.prefetchQuery(actionQuery('users_GetView', { projectId }))
  },
  component: lazyPage(() => import('./pages/devices/list/DevicesPage.tsx'), 'DevicesPage'),
})

const pendingCertificates = createRoute({
  getParentRoute: () => project,
  path: 'devices/pending',
  validateSearch: searchTexts<typeof pendingSearch>,
  component: lazyPage(() => import('./pages/approvals/PendingPage.tsx'), 'PendingPage'),
})

const connectDevice = createRoute({
  getParentRoute: () => project,
  path: 'devices/connect',
  component: lazyPage(() => import('./pages/devices/connect/ConnectPage.tsx'), 'ConnectPage'),
})

const device = createRoute({
  getParentRoute: () => project,
  path: 'devices/$deviceId',
  validateSearch: searchTexts<typeof deviceSearch>,
  loader: ({ context: { queryClient }, params: { deviceId } }) => {
    void queryClient.prefetchQuery(actionQuery('devices_GetDetails', { deviceId }))
    void queryClient.prefetchQuery(propertiesQuery(deviceId))
  },
  component: lazyPage(() => import('./pages/devices/detail/DevicePage.tsx'), 'DevicePage'),
})

const deviceTimeline = createRoute({
  getParentRoute: () => project,
  path: 'devices/$deviceId/timeline',
  validateSearch: searchTexts<typeof timelineSearch>,
  component: lazyPage(() => import('./pages/devices/detail/timeline/TimelinePage.tsx'), 'TimelinePage'),
})

const deviceEvents = createRoute({
  getParentRoute: () => project,
  path: 'devices/$deviceId/events',
  validateSearch: searchTexts<typeof eventsSearch>,
  component: lazyPage(() => import('./pages/devices/detail/timeline/EventsPage.tsx'), 'EventsPage'),
})

const software = createRoute({
  getParentRoute: () => project,
  path: 'software',
  loader: ({ context, params: { projectId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('projects_GetSoftware', { projectId }))
  },
  component: lazyPage(() => import('./pages/software/SoftwarePage.tsx'), 'SoftwarePage'),
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
  component: lazyPage(() => import('./pages/projects/tokens/TokensPage.tsx'), 'TokensPage'),
})

const projectSettings = createRoute({
  getParentRoute: () => project,
  path: 'settings',
  component: lazyPage(() => import('./pages/projects/ProjectSettingsPage.tsx'), 'ProjectSettingsPage'),
})

const projectLog = createRoute({
  getParentRoute: () => project,
  path: 'log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./pages/audit/ProjectLogPage.tsx'), 'ProjectLogPage'),
})

const deviceLog = createRoute({
  getParentRoute: () => project,
  path: 'devices/$deviceId/log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./pages/audit/DeviceLogPage.tsx'), 'DeviceLogPage'),
})

const linkedRepositories = createRoute({
  getParentRoute: () => project,
  path: 'repositories',
  validateSearch: searchTexts<typeof linkedRepositoriesSearch>,
  component: lazyPage(() => import('./pages/projects/LinkedRepositoriesPage.tsx'), 'LinkedRepositoriesPage'),
})

const repositories = createRoute({
  getParentRoute: () => organization,
  path: 'repositories',
  validateSearch: searchTexts<typeof repositoriesSearch>,
  component: lazyPage(() => import('./pages/repositories/RepositoriesPage.tsx'), 'RepositoriesPage'),
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

const repository = createRoute({
  getParentRoute: () => organization,
  path: 'repositories/$repositoryId',
  loader: ({ context, params: { repositoryId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('repositories_GetDetails', { repositoryId }))
  },
  component: lazyPage(() => import('./pages/repositories/RepositoryLayout.tsx'), 'RepositoryLayout'),
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
  component: lazyPage(() => import('./pages/repositories/PackagesPage.tsx'), 'PackagesPage'),
})

const softwarePackage = createRoute({
  getParentRoute: () => repository,
  path: 'packages/$packageId',
  validateSearch: searchTexts<typeof versionsSearch>,
  loader: ({ context, params: { packageId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('repositories_GetPackageDetails', { packageId }))
  },
  component: lazyPage(() => import('./pages/repositories/PackagePage.tsx'), 'PackagePage'),
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
  component: lazyPage(() => import('./pages/repositories/version/VersionPage.tsx'), 'VersionPage'),
  errorComponent: EntityError,
})

const assets = createRoute({
  getParentRoute: () => repository,
  path: 'assets',
  validateSearch: searchTexts<typeof assetsSearch>,
  component: lazyPage(() => import('./pages/repositories/AssetsPage.tsx'), 'AssetsPage'),
})

const repositoryLog = createRoute({
  getParentRoute: () => repository,
  path: 'log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./pages/audit/RepositoryLogPage.tsx'), 'RepositoryLogPage'),
})

const repositorySettings = createRoute({
  getParentRoute: () => repository,
  path: 'settings',
  loader: ({ context, params: { repositoryId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('repositories_GetS3Config', { repositoryId }))
  },
  component: lazyPage(
    () => import('./pages/repositories/RepositorySettingsPage.tsx'),
    'RepositorySettingsPage',
  ),
})

const organizationSettings = createRoute({
  getParentRoute: () => organization,
  path: 'settings',
  notFoundComponent: NotFound,
  component: lazyPage(() => import('./pages/organizations/OrganizationLayout.tsx'), 'OrganizationLayout'),
})

const organizationSettingsIndex = createRoute({
  getParentRoute: () => organizationSettings,
  path: '/',
  beforeLoad: ({ params, location: { state } }) => {
    throw redirect({ to: '/org_{$organization}/settings/members', params, state, replace: true })
  },
})

const members = createRoute({
  getParentRoute: () => organizationSettings,
  path: 'members',
  component: lazyPage(() => import('./pages/organizations/MembersPage.tsx'), 'MembersPage'),
})

const organizationLog = createRoute({
  getParentRoute: () => organizationSettings,
  path: 'log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./pages/audit/OrganizationLogPage.tsx'), 'OrganizationLogPage'),
})

const organizationGeneral = createRoute({
  getParentRoute: () => organizationSettings,
  path: 'general',
  component: lazyPage(
    () => import('./pages/organizations/OrganizationGeneralPage.tsx'),
    'OrganizationGeneralPage',
  ),
})

const invitations = createRoute({
  getParentRoute: () => authenticated,
  path: '/user/invitations',
  component: lazyPage(() => import('./pages/accounts/InvitationsPage.tsx'), 'InvitationsPage'),
})

const account = createRoute({
  getParentRoute: () => authenticated,
  path: '/settings',
  notFoundComponent: NotFound,
  component: lazyPage(() => import('./pages/accounts/AccountLayout.tsx'), 'AccountLayout'),
})

const accountIndex = createRoute({
  getParentRoute: () => account,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/profile', replace: true })
  },
})

const profile = createRoute({
  getParentRoute: () => account,
  path: 'profile',
  component: lazyPage(() => import('./pages/accounts/ProfilePage.tsx'), 'ProfilePage'),
})

const security = createRoute({
  getParentRoute: () => account,
  path: 'security',
  component: lazyPage(() => import('./pages/accounts/SecurityPage.tsx'), 'SecurityPage'),
})

const sessions = createRoute({
  getParentRoute: () => account,
  path: 'sessions',
  component: lazyPage(() => import('./pages/accounts/SessionsPage.tsx'), 'SessionsPage'),
})

const admin = createRoute({
  getParentRoute: () => authenticated,
  path: '/admin',
  notFoundComponent: NotFound,
  component: lazyPage(() => import('./pages/instance/AdminLayout.tsx'), 'AdminLayout'),
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
  component: lazyPage(() => import('./pages/instance/dashboard/DashboardPage.tsx'), 'DashboardPage'),
})

const allProjects = createRoute({
  getParentRoute: () => admin,
  path: 'projects',
  validateSearch: searchTexts<typeof allProjectsSearch>,
  component: lazyPage(() => import('./pages/instance/AllProjectsPage.tsx'), 'AllProjectsPage'),
})

const users = createRoute({
  getParentRoute: () => admin,
  path: 'users',
  validateSearch: searchTexts<typeof usersSearch>,
  component: lazyPage(() => import('./pages/accounts/UsersPage.tsx'), 'UsersPage'),
})

const eventLog = createRoute({
  getParentRoute: () => admin,
  path: 'log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./pages/audit/EventLogPage.tsx'), 'EventLogPage'),
})

const actionsLog = createRoute({
  getParentRoute: () => admin,
  path: 'actions',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./pages/audit/ActionsLogPage.tsx'), 'ActionsLogPage'),
})

const jobs = createRoute({
  getParentRoute: () => admin,
  path: 'jobs',
  validateSearch: searchTexts<typeof jobsSearch>,
  component: lazyPage(() => import('./pages/instance/jobs/JobsPage.tsx'), 'JobsPage'),
})

const cluster = createRoute({
  getParentRoute: () => admin,
  path: 'cluster',
  component: lazyPage(() => import('./pages/instance/ClusterPage.tsx'), 'ClusterPage'),
})

const routeTree = root.addChildren([
  login,
  signup,
  verify,
  confirmEmail,
  resetPassword,
  setPassword,
  designSystem,
  authenticated.addChildren([
    home,
    invitations,
    account.addChildren([accountIndex, profile, security, sessions]),
    admin.addChildren([adminIndex, dashboard, allProjects, users, eventLog, actionsLog, jobs, cluster]),
    organization.addChildren([
      organizationIndex,
      projects,
      project.addChildren([
        projectIndex,
        devices,
        pendingCertificates,
        connectDevice,
        device,
        deviceTimeline,
        deviceEvents,
        deviceLog,
        software,
        tokens,
        projectLog,
        linkedRepositories,
        projectSettings,
      ]),
      repositories,
      repositoryAlias,
      repository.addChildren([
        repositoryIndex,
        packages,
        softwarePackage,
        packageVersion,
        assets,
        repositoryLog,
        repositorySettings,
      ]),
      organizationSettings.addChildren([
        organizationSettingsIndex,
        members,
        organizationLog,
        organizationGeneral,
      ]),
    ]),
  ]),
])

/** Creates the console's router. */
export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    trailingSlash: 'preserve',
    // Search parameters are plain text: `?q=123`, not `?q="123"`.
    parseSearch: parseSearchWith(value => value),
    stringifySearch: stringifySearchWith(String),
    scrollRestoration: true,
    defaultPreload: 'intent',
    // The query cache decides whether data is stale, not the router.
    defaultPreloadStaleTime: 0,
    defaultPendingMs: 150,
    defaultPendingMinMs: 300,
    defaultPendingComponent: PagePending,
    defaultErrorComponent: RouteError,
    defaultNotFoundComponent: NotFound,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>
  }
}
