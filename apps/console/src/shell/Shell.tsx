import { Outlet } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useCurrentOrganization } from '../organization.ts'
import { TitleScope } from '../ui/Title.tsx'
import { Toaster } from '../ui/Toaster.tsx'
import { TopBar } from './TopBar.tsx'

/** Around every page of the signed-in area; `children` stand in for the route's page. */
export function Shell({ children }: { children?: ReactNode }) {
  const organization = useCurrentOrganization()
  return (
    <TitleScope name={organization?.name}>
      <TopBar />
      {children ?? <Outlet />}
      <Toaster />
    </TitleScope>
  )
}
