import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { useShortcut } from '../lib/shortcuts.ts'
import { IconButton } from './IconButton.tsx'

/** Asks again for what a page shows, as `r` does; busy until the answer is there. */
export function RefreshButton({ onRefresh }: { onRefresh: () => Promise<unknown> }) {
  const [isRefreshing, setRefreshing] = useState(false)
  const shortcut = useShortcut('r', 'Refresh', refresh)
  async function refresh() {
    if (isRefreshing) return
    setRefreshing(true)
    await onRefresh()
    setRefreshing(false)
  }
  return (
    <IconButton
      {...shortcut}
      label="Refresh"
      icon={RefreshCw}
      busy={isRefreshing}
      onClick={() => void refresh()}
    />
  )
}
