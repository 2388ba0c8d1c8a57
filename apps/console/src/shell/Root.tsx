import { useQueryClient } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useConfig } from '../api/config.ts'
import { loadSession, useSignedInUserId } from '../session.ts'
import { NotFound } from '../ui/NotFound.tsx'
import { InstanceName } from '../ui/Title.tsx'
import { TooltipHost } from '../ui/TooltipHost.tsx'
import { Banner } from './Banner.tsx'
import { Logo } from './Logo.tsx'
import { useExtraScripts } from './use-extra-scripts.ts'
import { useRouteFocus } from './use-route-focus.ts'

const Shell = lazy(async () => ({ default: (await import('./app/Shell.tsx')).Shell }))

/** Layout of all pages, including the pages for users who are not signed in. */
export function Root() {
  useExtraScripts()
  useRouteFocus()
  return (
    <InstanceName value={useConfig().instanceName}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <Banner />
      <Outlet />
      <TooltipHost />
    </InstanceName>
  )
}

/**
 * Page for an unknown URL, with the top bar for signed-in users and the logo for others. The page loads the session itself, because it has no parent
 * route that loads it.
 */
export function RootNotFound() {
  const queryClient = useQueryClient()
  const userId = useSignedInUserId()
  const [isAsked, setAsked] = useState(false)
  useEffect(() => {
    // Without a session, or if the hub does not answer, the page is shown without the top bar.
    loadSession(queryClient)
      .catch(() => {})
      .finally(() => setAsked(true))
  }, [queryClient])
  if (!userId)
    return (
      isAsked && (
        <>
          <header className="topbar">
            <Logo named />
          </header>
          <NotFound />
        </>
      )
    )
  return (
    <Suspense>
      <Shell>
        <NotFound />
      </Shell>
    </Suspense>
  )
}
