import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { usePageAction } from '../../lib/app/page-actions.ts'
import { useShortcut } from '../../lib/app/shortcuts.ts'
import { IconButton } from './IconButton.tsx'

/** Button that refetches the data of a page; the key `r` does the same. The button is busy until the answer has arrived. */
export function RefreshButton({ onRefresh }: { onRefresh: () => Promise<unknown> }) {
  const [isRefreshing, setRefreshing] = useState(false)
  const shortcut = useShortcut('r', 'Refresh', refresh)
  usePageAction({ label: 'Refresh', icon: RefreshCw, keys: 'r', run: refresh })
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
