import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, redirect } from '@tanstack/react-router'
import { loadConfig } from './api/config.ts'
import { lazyPage } from './lib/load-code.ts'
import { loadSession } from './session.ts'
import { Root, RootNotFound } from './shell/Root.tsx'

/** The route that contains all others. */
export const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  // The banner is at the top of every page: it would move the page if it came later.
  loader: ({ context }) => loadConfig(context.queryClient),
  staleTime: Number.POSITIVE_INFINITY,
  component: Root,
  notFoundComponent: RootNotFound,
})

const shell = lazyPage(() => import('./shell/app/Shell.tsx'), 'Shell')

/** Parent of all routes that need a signed-in user. */
export const authenticated = createRoute({
  getParentRoute: () => root,
  id: 'authenticated',
  beforeLoad: async ({ context, location }) => {
    // Loads the code of the shell while the session is requested.
    void shell.preload?.()
    try {
      return { userId: await loadSession(context.queryClient) }
    } catch {
      throw redirect({ to: '/login', search: { redirect: location.href } })
    }
  },
  component: shell,
})
