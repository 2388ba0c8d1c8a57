import { createRoute, redirect } from '@tanstack/react-router'
import { actionQuery } from '../../api/queries.ts'
import { lazyPage } from '../../lib/load-code.ts'
import {
  currentOrganizationId,
  organizationIdOf,
  organizationParam,
  setCurrentOrganizationId,
} from '../../organization.ts'
import { authenticated } from '../../root-routes.ts'
import { OrganizationScope } from '../../shell/OrganizationScope.tsx'
import { EntityError } from '../../ui/EntityError.tsx'
import { NotFound } from '../../ui/NotFound.tsx'

/** The start page, a child of `authenticated`. */
export const home = createRoute({
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
  component: lazyPage(() => import('./NoOrganizationPage.tsx'), 'NoOrganizationPage'),
})

/** Parent of all pages of an organization. */
export const organization = createRoute({
  getParentRoute: () => authenticated,
  path: '/org_{$organization}',
  beforeLoad: ({ context, params, preload }) => {
    if (!preload) setCurrentOrganizationId(context.userId, organizationIdOf(params))
  },
  component: OrganizationScope,
  notFoundComponent: NotFound,
})

/** Leads to the projects, a child of `organization`. */
export const organizationIndex = createRoute({
  getParentRoute: () => organization,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/org_{$organization}/projects', params, replace: true })
  },
})

/** Parent of the settings of an organization. */
export const organizationSettings = createRoute({
  getParentRoute: () => organization,
  path: 'settings',
  notFoundComponent: NotFound,
  component: lazyPage(() => import('./OrganizationLayout.tsx'), 'OrganizationLayout'),
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
  component: lazyPage(() => import('./MembersPage.tsx'), 'MembersPage'),
  errorComponent: EntityError,
})

const organizationGeneral = createRoute({
  getParentRoute: () => organizationSettings,
  path: 'general',
  component: lazyPage(() => import('./OrganizationGeneralPage.tsx'), 'OrganizationGeneralPage'),
  errorComponent: EntityError,
})

/** Children of `organizationSettings`. */
export const organizationSettingsRoutes = [organizationSettingsIndex, members, organizationGeneral] as const
