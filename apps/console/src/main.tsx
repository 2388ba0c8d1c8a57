import './styles/index.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueryClient } from './api/queries.ts'
import { log } from './lib/log.ts'
import { createAppRouter } from './routes.tsx'
import { followSystemTheme } from './theme.ts'
import '@fontsource-variable/atkinson-hyperlegible-next/wght.css'
import '@fontsource-variable/geist-mono/wght.css'

const queryClient = createQueryClient()
const router = createAppRouter(queryClient)
followSystemTheme()
// Loads the code of the page while the session is requested.
for (const { routeId } of router.matchRoutes(router.latestLocation))
  void router.routesById[routeId as keyof typeof router.routesById].options.component?.preload?.()

// The page shows a caught error in its place. After a recoverable error React renders the page again, so nobody sees it.
const options = {
  onCaughtError: (error: unknown) => log.warn('A part of the page failed', error),
  onRecoverableError: (error: unknown) => log.warn('A part of the page failed once', error),
}
createRoot(document.getElementById('root')!, options).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
