import { Outlet } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useCurrentOrganization } from '../organization.ts'
import { TitleScope } from '../ui/Title.tsx'
import { Toaster } from '../ui/Toaster.tsx'
import { Shortcuts } from './Shortcuts.tsx'
import { TopBar } from './TopBar.tsx'

/** Around every page of the signed-in area; `children` stand in for the route's page. */
export function Shell({ children }: { children?: ReactNode }) {
  const organization = useCurrentOrganization()
  const [isSheetOpen, setSheetOpen] = useState(false)
  return (
    <TitleScope name={organization?.name}>
      <TopBar onShortcuts={() => setSheetOpen(true)} />
      {children ?? <Outlet />}
      <Shortcuts isSheetOpen={isSheetOpen} onSheet={setSheetOpen} />
      <Toaster />
    </TitleScope>
  )
}
