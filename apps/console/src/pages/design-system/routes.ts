import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../lib/load-code.ts'
import { root } from '../../root-routes.ts'

/** The design system, a child of the root. */
export const designSystem = createRoute({
  getParentRoute: () => root,
  path: '/design-system',
  component: lazyPage(() => import('./DesignSystemPage.tsx'), 'DesignSystemPage'),
})
