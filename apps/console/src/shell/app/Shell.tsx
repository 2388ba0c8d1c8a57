import { useQueryClient } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { checkAnswers } from '../../api/app/check-answer.ts'
import { limitQueries } from '../../api/app/query-limits.ts'
import { registerServiceWorker } from '../../offline/register.ts'
import { Toaster } from '../../ui/app/Toaster.tsx'
import { keepCounts } from './keep-counts.ts'
import { LostBar } from './LostBar.tsx'
import { useRecentPages } from './recent-pages.ts'
import { Shortcuts } from './Shortcuts.tsx'
import { TopBar } from './TopBar.tsx'
import { useLatePlace } from './use-late-place.ts'
import '../../styles/app.css'

limitQueries()
checkAnswers()

/** Layout of all signed-in pages. `children` replace the page of the route. */
export function Shell({ children }: { children?: ReactNode }) {
  const queryClient = useQueryClient()
  useEffect(registerServiceWorker, [])
  useEffect(() => keepCounts(queryClient), [queryClient])
  const [isSheetOpen, setSheetOpen] = useState(false)
  useRecentPages()
  useLatePlace()
  return (
    <>
      <TopBar onShortcuts={() => setSheetOpen(true)} />
      <LostBar />
      {children ?? <Outlet />}
      <Shortcuts isSheetOpen={isSheetOpen} onSheet={setSheetOpen} />
      <Toaster />
    </>
  )
}
