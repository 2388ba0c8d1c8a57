import type { QueryClient } from '@tanstack/react-query'
import { createRouter, parseSearchWith, stringifySearchWith } from '@tanstack/react-router'
import { accountRoutes, users } from './pages/accounts/routes.ts'
import { pendingCertificates } from './pages/approvals/routes.ts'
import { instanceLogs, organizationLog, projectLogs, repositoryLog } from './pages/audit/routes.ts'
import { importLabels } from './pages/bulk/routes.ts'
import { designSystem } from './pages/design-system/routes.ts'
import { deviceRoutes } from './pages/devices/routes.ts'
import { admin, instanceRoutes } from './pages/instance/routes.ts'
import { loginRoutes } from './pages/login/routes.ts'
import {
  home,
  organization,
  organizationIndex,
  organizationSettings,
  organizationSettingsRoutes,
} from './pages/organizations/routes.ts'
import { project, projectRoutes, projects } from './pages/projects/routes.ts'
import { repositoriesRoutes, repository, repositoryRoutes } from './pages/repositories/routes.ts'
import { signupRoutes } from './pages/signup/routes.ts'
import { software } from './pages/software/routes.ts'
import { webhookRoutes } from './pages/webhooks/routes.ts'
import { authenticated, root } from './root-routes.ts'
import { NotFound } from './ui/NotFound.tsx'
import { PagePending } from './ui/PagePending.tsx'
import { RouteError } from './ui/RouteError.tsx'

const routeTree = root.addChildren([
  ...loginRoutes,
  ...signupRoutes,
  designSystem,
  authenticated.addChildren([
    home,
    ...accountRoutes,
    admin.addChildren([...instanceRoutes, users, ...instanceLogs]),
    organization.addChildren([
      organizationIndex,
      projects,
      project.addChildren([
        ...projectRoutes,
        ...deviceRoutes,
        pendingCertificates,
        importLabels,
        software,
        ...projectLogs,
      ]),
      ...repositoriesRoutes,
      repository.addChildren([...repositoryRoutes, repositoryLog]),
      organizationSettings.addChildren([...organizationSettingsRoutes, ...webhookRoutes, organizationLog]),
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
