import { Outlet } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { Toaster } from '../../ui/app/Toaster.tsx'
import { LostBar } from './LostBar.tsx'
import { useRecentPages } from './recent-pages.ts'
import { Shortcuts } from './Shortcuts.tsx'
import { TopBar } from './TopBar.tsx'
import '../../styles/app.css'

/** Layout of all signed-in pages. `children` replace the page of the route. */
export function Shell({ children }: { children?: ReactNode }) {
  const [isSheetOpen, setSheetOpen] = useState(false)
  useRecentPages()
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
