import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { project } from '../projects/routes.ts'
import type { pendingSearch } from './pending-search.ts'

/** The pending certificates, a child of `project`. */
export const pendingCertificates = createRoute({
  getParentRoute: () => project,
  path: 'devices/pending',
  validateSearch: searchTexts<typeof pendingSearch>,
  component: lazyPage(() => import('./PendingPage.tsx'), 'PendingPage'),
})
