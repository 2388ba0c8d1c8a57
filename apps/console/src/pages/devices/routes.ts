import { createRoute } from '@tanstack/react-router'
import { actionPagesQuery, actionQuery } from '../../api/queries.ts'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { EntityError } from '../../ui/EntityError.tsx'
import { project } from '../projects/routes.ts'
import type { deviceSearch } from './detail/device-search.ts'
import type { eventsSearch } from './detail/timeline/EventsPage.tsx'
import type { timelineSearch } from './detail/timeline/TimelinePage.tsx'
import { allDevicesInput } from './list/all-devices-input.ts'
import type { devicesSearch } from './shared/device-search.ts'
import { viewsInput } from './shared/views-input.ts'

const devices = createRoute({
  getParentRoute: () => project,
  path: 'devices',
  validateSearch: searchTexts<typeof devicesSearch>,
  loader: ({ context: { queryClient }, params: { projectId }, location }) => {
    const first = actionPagesQuery('projects_QueryDevices', allDevicesInput(projectId))
    // Prefetches the list if the URL has no search parameters and the list is not cached. A list with a filter or sort order is loaded
    // by the page.
    const isAsked = Object.keys(location.search).length > 0 || queryClient.getQueryData(first.queryKey)
    if (!isAsked) void queryClient.prefetchInfiniteQuery(first)
    void queryClient.prefetchQuery(actionQuery('users_GetView', { projectId }))
    void queryClient.prefetchQuery(actionQuery('views_Query', viewsInput(projectId)))
  },
  component: lazyPage(() => import('./list/DevicesPage.tsx'), 'DevicesPage'),
})

const connectDevice = createRoute({
  getParentRoute: () => project,
  path: 'devices/connect',
  component: lazyPage(() => import('./connect/ConnectPage.tsx'), 'ConnectPage'),
})

const device = createRoute({
  getParentRoute: () => project,
  path: 'devices/$deviceId',
  validateSearch: searchTexts<typeof deviceSearch>,
  loader: ({ context: { queryClient }, params: { projectId, deviceId } }) =>
    // Waits for the code and not for the answers, so that the queries are sent together before the page sends them one by one. The page
    // needs the same code, and shows its error.
    import('./detail/prefetch-device.ts').then(
      ({ prefetchDevice }) => prefetchDevice(queryClient, projectId, deviceId),
      () => {},
    ),
  component: lazyPage(() => import('./detail/DevicePage.tsx'), 'DevicePage'),
})

const deviceTimeline = createRoute({
  getParentRoute: () => project,
  path: 'devices/$deviceId/timeline',
  validateSearch: searchTexts<typeof timelineSearch>,
  component: lazyPage(() => import('./detail/timeline/TimelinePage.tsx'), 'TimelinePage'),
  errorComponent: EntityError,
})

const deviceEvents = createRoute({
  getParentRoute: () => project,
  path: 'devices/$deviceId/events',
  validateSearch: searchTexts<typeof eventsSearch>,
  component: lazyPage(() => import('./detail/timeline/EventsPage.tsx'), 'EventsPage'),
  errorComponent: EntityError,
})

/** Pages of devices, children of `project`. */
export const deviceRoutes = [devices, connectDevice, device, deviceTimeline, deviceEvents] as const
