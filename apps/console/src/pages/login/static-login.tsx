import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router'
import { renderToStaticMarkup } from 'react-dom/server'
import { LoginPage } from './LoginPage.tsx'

// Runs in Node while the console is built (apps/console/login-file.ts), and writes the markup of the sign-in page to stdout.

const root = createRootRoute()
const login = createRoute({ getParentRoute: () => root, path: '/login', component: LoginPage })
const router = createRouter({
  routeTree: root.addChildren([login]),
  history: createMemoryHistory({ initialEntries: ['/login'] }),
  trailingSlash: 'preserve',
})
await router.load()
const markup = renderToStaticMarkup(
  <QueryClientProvider client={new QueryClient()}>
    <RouterProvider router={router} />
  </QueryClientProvider>,
)
process.stdout.write(markup, () => process.exit())
