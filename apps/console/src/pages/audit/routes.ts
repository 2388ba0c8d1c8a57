import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { EntityError } from '../../ui/EntityError.tsx'
import { admin } from '../instance/routes.ts'
import { organizationSettings } from '../organizations/routes.ts'
import { project } from '../projects/routes.ts'
import { repository } from '../repositories/routes.ts'
import type { auditSearch } from './audit-search.ts'

const eventLog = createRoute({
  getParentRoute: () => admin,
  path: 'log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./EventLog.tsx'), 'EventLogPage'),
})

const actionsLog = createRoute({
  getParentRoute: () => admin,
  path: 'actions',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./ActionsLogPage.tsx'), 'ActionsLogPage'),
})

/** Logs of the instance, children of `admin`. */
export const instanceLogs = [eventLog, actionsLog] as const

/** Log of an organization, a child of `organizationSettings`. */
export const organizationLog = createRoute({
  getParentRoute: () => organizationSettings,
  path: 'log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./EventLog.tsx'), 'OrganizationLogPage'),
  errorComponent: EntityError,
})

const projectLog = createRoute({
  getParentRoute: () => project,
  path: 'log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./EventLog.tsx'), 'ProjectLogPage'),
})

const deviceLog = createRoute({
  getParentRoute: () => project,
  path: 'devices/$deviceId/log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./DeviceLogPage.tsx'), 'DeviceLogPage'),
})

/** Logs of a project and its devices, children of `project`. */
export const projectLogs = [projectLog, deviceLog] as const

/** Log of a repository, a child of `repository`. */
export const repositoryLog = createRoute({
  getParentRoute: () => repository,
  path: 'log',
  validateSearch: searchTexts<typeof auditSearch>,
  component: lazyPage(() => import('./EventLog.tsx'), 'RepositoryLogPage'),
})
