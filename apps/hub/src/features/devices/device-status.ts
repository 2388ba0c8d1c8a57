/** Status of a device. A connected device that reports no health or an unknown health counts as healthy (docs/protocol.md 4.3). */
export function statusOf(
  isConnected: boolean,
  health: string | null,
): 'healthy' | 'warning' | 'error' | 'offline' {
  if (!isConnected) return 'offline'
  if (health === 'degraded') return 'warning'
  return health === 'error' ? 'error' : 'healthy'
}
