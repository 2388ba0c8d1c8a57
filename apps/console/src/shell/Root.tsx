import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useHeldUserId } from '../session.ts'
import { NotFound } from '../ui/NotFound.tsx'
import { TooltipHost } from '../ui/TooltipHost.tsx'
import { Banner } from './Banner.tsx'
import { useExtraScripts } from './use-extra-scripts.ts'
import { useRouteFocus } from './use-route-focus.ts'

const Shell = lazy(async () => ({ default: (await import('./Shell.tsx')).Shell }))

/** Around every page, public ones included. */
export function Root() {
  useExtraScripts()
  useRouteFocus()
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <Banner />
      <Outlet />
      <TooltipHost />
    </>
  )
}

/** An unknown address: inside the shell for who is signed in. */
export function RootNotFound() {
  if (!useHeldUserId()) return <NotFound />
  return (
    <Suspense>
      <Shell>
        <NotFound />
      </Shell>
    </Suspense>
  )
}
