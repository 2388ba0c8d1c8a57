import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { useShortcut } from '../../lib/app/shortcuts.ts'
import { IconButton } from './IconButton.tsx'

/** Refetches the data of a page, as the key `r` does. Busy until the answer is there. */
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
