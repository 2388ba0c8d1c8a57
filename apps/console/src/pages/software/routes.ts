import { createRoute } from '@tanstack/react-router'
import { actionQuery } from '../../api/queries.ts'
import { lazyPage } from '../../lib/load-code.ts'
import { project } from '../projects/routes.ts'

/** The software of a project, a child of `project`. */
export const software = createRoute({
  getParentRoute: () => project,
  path: 'software',
  loader: ({ context, params: { projectId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('projects_GetSoftware', { projectId }))
  },
  component: lazyPage(() => import('./SoftwarePage.tsx'), 'SoftwarePage'),
})
