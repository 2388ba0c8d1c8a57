import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { log } from '../lib/log.ts'
import { CONFIG_STALE_MS } from './refresh.ts'

/** Longest time for which a page waits for the public settings, in milliseconds. */
const PAGE_WAITS_MS = 1000

/** Public settings of this instance (`GET /api/config.json`). */
export type PublicConfig = {
  banner?: { text: string }
  scripts?: { src: string; attributes?: Record<string, string> }[]
  publicUrl?: string
  deviceUrl?: string
  termsUrl?: string
  privacyUrl?: string
  instanceName?: string
}

/** Query for the public settings. A failed request is logged and answered with an empty object, so that the defaults apply. */
const configQuery = queryOptions({
  queryKey: ['config.json'],
  queryFn: fetchConfig,
  staleTime: CONFIG_STALE_MS,
  retry: false,
})

async function fetchConfig({ signal }: { signal: AbortSignal }): Promise<PublicConfig> {
  try {
    const response = await fetch('/api/config.json', { credentials: 'same-origin', signal })
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    return (await response.json()) as PublicConfig
  } catch (error) {
    if (!signal.aborted) log.error('Could not fetch /api/config.json', error)
    return {}
  }
}

/** Waits until the public settings have loaded, at most 1 s. */
export async function loadConfig(queryClient: QueryClient): Promise<void> {
  const late = new Promise<void>(resolve => setTimeout(resolve, PAGE_WAITS_MS))
  await Promise.race([queryClient.ensureQueryData(configQuery), late])
}

/** The public settings, empty until they have loaded. */
export function useConfig(): PublicConfig {
  return useQuery(configQuery).data ?? {}
}

/** The URL of this console and of the files that the hub serves; the origin of this page until the settings have loaded. */
export function usePublicUrl(): string {
  return useConfig().publicUrl ?? window.location.origin
}

/** The URL to which devices connect. Its port differs from the port of `usePublicUrl` if devices have a separate port. */
export function useDeviceUrl(): string {
  return useConfig().deviceUrl ?? window.location.origin
}
