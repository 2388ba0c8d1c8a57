import { useQueryClient } from '@tanstack/react-query'
import { useLocation, useParams } from '@tanstack/react-router'
import { CircleAlert, CircleX, Clock, Cpu, FileText, ShieldCheck, TriangleAlert } from 'lucide-react'
import { actionQuery, useActionState } from '../../../api/queries.ts'
import { counted } from '../../../lib/app/format.ts'
import { pageActions } from '../../../lib/app/page-actions.ts'
import { useSession } from '../../../session.ts'
import {
  ACCOUNT_PAGES,
  ADMIN_PAGES,
  INVITATIONS_PAGE,
  organizationPages,
  projectPages,
  UNLINKED_ADMIN_PAGES,
} from '../../app/pages.ts'
import { type RecentPage, recentPages } from '../../app/recent-pages.ts'
import { DeviceState } from './DeviceState.tsx'
import type { Option, OptionGroup } from './option.ts'
import { optionsOfDevice } from './use-found.tsx'

/** Maximum number of pages under "Recently opened". */
const MAX_RECENT = 5

/** Filters of the device list that are shown with the number of devices that match. */
const COUNTED = [{ preset: 'updateFailed' as const }, { preset: 'offlineLong' as const }]

/**
 * Actions of the page on screen: filters of the project's devices, actions on the device, and the actions of `usePageAction`.
 * `isSearching` cancels the count of devices, because the hub runs one count or search at a time for each person.
 */
export function useThisPage(copy: (id: string) => void, isSearching: boolean): OptionGroup {
  const { organization, projectId, deviceId } = useParams({ strict: false })
  const { pathname } = useLocation()
  const title = document.title.split(' · ')[0]
  const summary = useActionState(
    'projects_GetSummary',
    { projectId: projectId ?? '' },
    { enabled: projectId !== undefined && deviceId === undefined },
  ).data
  const device = useActionState(
    'devices_GetDetails',
    { deviceId: deviceId ?? '' },
    { enabled: deviceId !== undefined },
  ).data
  const isList = projectId !== undefined && /\/devices\/?$/.test(pathname)
  const isCounting = isList && !isSearching
  const { data: counted } = useActionState(
    'projects_QueryDeviceCounts',
    // During a search the query has another input (no filters). The query with the former input loses its observer, so its request is
    // aborted.
    { projectId: projectId ?? '', filters: isCounting ? COUNTED : [] },
    { enabled: isCounting },
  )
  return {
    label: 'This page',
    aside: title,
    options: [
      ...(isList ? deviceFilters(pathname, summary, counted?.counts) : []),
      ...(device && organization ? optionsOfDevice(`/org_${organization}`, device, copy).options : []),
      ...pageActions().map(({ label, icon, keys, run }) => ({
        key: `page ${label}`,
        icon,
        label,
        run,
        ...(keys !== undefined && { end: <kbd>{keys}</kbd> }),
      })),
    ],
  }
}

type Summary =
  | { pendingCount: number; warningCount?: number | undefined; errorCount?: number | undefined }
  | undefined

function deviceFilters(
  to: string,
  summary: Summary,
  [failedCount, offlineCount]: readonly (number | null)[] = [],
): Option[] {
  const { pendingCount = 0, errorCount = 0, warningCount = 0 } = summary ?? {}
  const option = (
    label: string,
    icon: Option['icon'],
    search: Record<string, string>,
    count?: number | null,
  ): Option => ({
    key: label,
    label,
    icon,
    to,
    search,
    ...(typeof count === 'number' && { hit: <em>{counted(count, 'device')}</em> }),
  })
  return [
    ...(pendingCount > 0
      ? [
          {
            ...option('Approve pending certificates', ShieldCheck, {}, pendingCount),
            to: `${to.replace(/\/$/, '')}/pending`,
          },
        ]
      : []),
    ...(errorCount > 0
      ? [option('Show devices with errors', CircleAlert, { show: 'error' }, errorCount)]
      : []),
    ...(warningCount > 0
      ? [option('Show devices with warnings', TriangleAlert, { show: 'warning' }, warningCount)]
      : []),
    option('Show devices whose update failed', CircleX, { show: 'updateFailed' }, failedCount),
    option('Show devices offline for more than 24 h', Clock, { show: 'offlineLong' }, offlineCount),
  ]
}

/** Pages that the user has left, latest first, without the page on screen. */
export function useRecent(): OptionGroup {
  const { userId } = useSession()
  const { pathname } = useLocation()
  const queryClient = useQueryClient()
  const pages = recentPages(userId).filter(({ path }) => path !== pathname && path !== '/')
  return {
    label: 'Recently opened',
    options: pages.slice(0, MAX_RECENT).map(page => {
      const deviceId = /\/devices\/([^/]+)\/?$/.exec(page.path)?.[1]
      const device =
        deviceId && queryClient.getQueryData(actionQuery('devices_GetDetails', { deviceId }).queryKey)
      const [label = page.path, place] = page.title.split(' · ')
      return {
        key: `recent ${page.path}`,
        to: page.path,
        label,
        icon: deviceId ? Cpu : iconOf(page),
        hit: deviceId ?? <em>{place}</em>,
        ...(deviceId && { id: deviceId }),
        ...(device && { end: <DeviceState isConnected={device.isConnected} /> }),
      }
    }),
  }
}

function iconOf({ path }: RecentPage): Option['icon'] {
  const plain = path.replace(/\/$/, '')
  const [, base] = /^(\/org_[^/]+\/projects\/[^/]+)/.exec(plain) ?? []
  const [, organizationId = ''] = /^\/(org_[^/]+)/.exec(plain) ?? []
  const links = [
    ...(base ? projectPages(base) : []),
    ...organizationPages(organizationId),
    ...ACCOUNT_PAGES,
    ...ADMIN_PAGES,
    INVITATIONS_PAGE,
    ...UNLINKED_ADMIN_PAGES,
  ]
  return links.find(({ to }) => to.replace(/\/$/, '') === plain)?.icon ?? FileText
}
