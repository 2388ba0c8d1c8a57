import { createRoute } from '@tanstack/react-router'
import type { anyText } from '../../lib/app/search.ts'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { root } from '../../root-routes.ts'

const signup = createRoute({
  getParentRoute: () => root,
  path: '/signup/',
  validateSearch: searchTexts<{ invitation: typeof anyText }>,
  component: lazyPage(() => import('./SignupPage.tsx'), 'SignupPage'),
})

const verify = createRoute({
  getParentRoute: () => root,
  path: '/signup/verify',
  validateSearch: searchTexts<{ jwt: typeof anyText }>,
  component: lazyPage(() => import('./VerifyPage.tsx'), 'VerifyPage'),
})

const confirmEmail = createRoute({
  getParentRoute: () => root,
  path: '/confirm-email',
  validateSearch: searchTexts<{ jwt: typeof anyText }>,
  component: lazyPage(() => import('./ConfirmEmailPage.tsx'), 'ConfirmEmailPage'),
})

/** Pages of people without an account, children of the root. */
export const signupRoutes = [signup, verify, confirmEmail] as const
