import { useQueryClient } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useConfig } from '../api/config.ts'
import { loadSession, useSignedInUserId } from '../session.ts'
import { NotFound } from '../ui/NotFound.tsx'
import { InstanceName } from '../ui/Title.tsx'
import { TooltipHost } from '../ui/TooltipHost.tsx'
import { Banner } from './Banner.tsx'
import { useExtraScripts } from './use-extra-scripts.ts'
import { useRouteFocus } from './use-route-focus.ts'

const Shell = lazy(async () => ({ default: (await import('./app/Shell.tsx')).Shell }))

/** Layout of all pages, including public pages. */
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
 * Page for an unknown URL, inside the shell for signed-in users. The page loads the session itself, because it has no
 * parent route that does so.
 */
export function RootNotFound() {
  const queryClient = useQueryClient()
  const userId = useSignedInUserId()
  const [isAsked, setAsked] = useState(false)
  useEffect(() => {
    // Without a session or an answer of the hub the page is shown without the shell.
    loadSession(queryClient)
      .catch(() => {})
      .finally(() => setAsked(true))
  }, [queryClient])
  if (!userId) return isAsked && <NotFound />
  return (
    <Suspense>
      <Shell>
        <NotFound />
      </Shell>
    </Suspense>
  )
}
