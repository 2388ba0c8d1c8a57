import { createRoute, redirect } from '@tanstack/react-router'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { authenticated } from '../../root-routes.ts'
import { NotFound } from '../../ui/NotFound.tsx'
import { admin } from '../instance/routes.ts'
import type { usersSearch } from './UsersPage.tsx'

const invitations = createRoute({
  getParentRoute: () => authenticated,
  path: '/user/invitations',
  component: lazyPage(() => import('./InvitationsPage.tsx'), 'InvitationsPage'),
})

const account = createRoute({
  getParentRoute: () => authenticated,
  path: '/settings',
  notFoundComponent: NotFound,
  component: lazyPage(() => import('./AccountLayout.tsx'), 'AccountLayout'),
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
  component: lazyPage(() => import('./ProfilePage.tsx'), 'ProfilePage'),
})

const security = createRoute({
  getParentRoute: () => account,
  path: 'security',
  component: lazyPage(() => import('./SecurityPage.tsx'), 'SecurityPage'),
})

const sessions = createRoute({
  getParentRoute: () => account,
  path: 'sessions',
  component: lazyPage(() => import('./SessionsPage.tsx'), 'SessionsPage'),
})

/** Pages about the signed-in person, children of `authenticated`. */
export const accountRoutes = [
  invitations,
  account.addChildren([accountIndex, profile, security, sessions]),
] as const

/** The list of users, a child of `admin`. */
export const users = createRoute({
  getParentRoute: () => admin,
  path: 'users',
  validateSearch: searchTexts<typeof usersSearch>,
  component: lazyPage(() => import('./UsersPage.tsx'), 'UsersPage'),
})
