import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../lib/load-code.ts'
import { project } from '../projects/routes.ts'

/** The import of names and labels, a child of `project`. */
export const importLabels = createRoute({
  getParentRoute: () => project,
  path: 'devices/import',
  component: lazyPage(() => import('./import/ImportPage.tsx'), 'ImportPage'),
})
