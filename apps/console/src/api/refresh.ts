/** Polling interval of a query while its page is visible, and the time for which its answer is fresh. */
type Refresh = { intervalMs: number | false; staleMs: number }

const STALE_MS = 30_000

const everySecs = (secs: number): Refresh => ({ intervalMs: secs * 1000, staleMs: STALE_MS })

/** Query actions whose polling interval differs from the default of 60 s (docs/specification.md 7, docs/product.md 7; docs/decisions.md, "Polling"). */
const REFRESH: Record<string, Refresh> = {
  actor_GetActor: { intervalMs: false, staleMs: Number.POSITIVE_INFINITY },
  // Only the user changes their own view of the device list, so it is not polled.
  users_GetView: { intervalMs: false, staleMs: STALE_MS },
  projects_QueryDevices: everySecs(120),
  cluster_GetDetails: everySecs(300),
  // The dashboard says how long ago the hub was checked.
  instance_GetHealth: everySecs(5),
  repositories_GetDetails: everySecs(120),
  repositories_QueryPackages: everySecs(300),
  repositories_GetPackageDetails: everySecs(300),
  repositories_QueryPackageVersions: everySecs(300),
  repositories_GetVersionDetails: everySecs(300),
  repositories_QueryAssets: everySecs(300),
  repositories_GetS3Config: everySecs(300),
}

/** Time for which `/api/config.json` is fresh, in milliseconds. It is never polled. */
export const CONFIG_STALE_MS = 300_000

/** Polling interval and stale time of an action, 60 s and 30 s by default. */
export function refreshOf(actionName: string): Refresh {
  return REFRESH[actionName] ?? everySecs(60)
}
