import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from './IconButton.tsx'

/** Asks again for what a page shows; busy until the answer is there. */
export function RefreshButton({ onRefresh }: { onRefresh: () => Promise<unknown> }) {
  const [isRefreshing, setRefreshing] = useState(false)
  async function refresh() {
    setRefreshing(true)
    await onRefresh()
    setRefreshing(false)
  }
  return <IconButton label="Refresh" icon={RefreshCw} busy={isRefreshing} onClick={() => void refresh()} />
}
