import { useCommand } from '../../../api/queries.ts'
import { openIssued } from '../../../lib/app/open-window.ts'
import { toastError } from '../../../ui/app/toast.ts'
import type { WEB_PROTOCOLS } from '../detail/device-search.ts'
import { PROXY_LINK_HOURS } from './proxy-link-hours.ts'

type WebProtocol = (typeof WEB_PROTOCOLS)[number]

/** Opens web pages of a device in a new window. Each call requests a new link. */
export function useProxyLink(deviceId: string) {
  const issue = useCommand('devices_IssueHttpProxyToken')

  async function openPages(port: number | undefined, path: string, protocol: WebProtocol | undefined) {
    try {
      await openIssued(async () => {
        const input = {
          deviceId,
          validForSecs: PROXY_LINK_HOURS * 3600,
          ...(port && { port }),
          ...(protocol && { protocol }),
        }
        return { url: withPath((await issue.mutateAsync(input)).url, path) }
      })
    } catch (error) {
      toastError("Could not open the device's pages", error)
    }
  }

  return {
    isPending: issue.isPending,
    /** Opens `path` on a port of the device. Without `port` the hub uses port 80, without `protocol` plain HTTP. */
    open: (port?: number, path = '/', protocol?: WebProtocol) => void openPages(port, path, protocol),
  }
}

/** Adds the path and the query of a declared service to a link. The host stays unchanged, because a device must not choose it. */
function withPath(link: string, path: string): string {
  const url = new URL(link)
  const [pathname = '/', query] = path.split('#', 1)[0]!.split(/\?(.*)/s)
  url.pathname = pathname
  for (const [key, value] of new URLSearchParams(query)) url.searchParams.append(key, value)
  return url.href
}
