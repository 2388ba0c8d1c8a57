import { createRoute } from '@tanstack/react-router'
import type { anyText } from '../../lib/app/search.ts'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { root } from '../../root-routes.ts'

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: searchTexts<{ redirect: typeof anyText }>,
  component: lazyPage(() => import('./LoginPage.tsx'), 'LoginPage'),
})

const resetPassword = createRoute({
  getParentRoute: () => root,
  path: '/reset-password',
  component: lazyPage(() => import('./ResetPasswordPage.tsx'), 'ResetPasswordPage'),
})

const setPassword = createRoute({
  getParentRoute: () => root,
  path: '/set-password',
  validateSearch: searchTexts<{ jwt: typeof anyText }>,
  component: lazyPage(() => import('./SetPasswordPage.tsx'), 'SetPasswordPage'),
})

/** Pages that sign people in, children of the root. */
export const loginRoutes = [login, resetPassword, setPassword] as const
