import { useQueryClient } from '@tanstack/react-query'
import { Outlet, useRouter } from '@tanstack/react-router'
import { type ComponentType, lazy, Suspense, useEffect, useState } from 'react'
import { useConfig } from '../api/config.ts'
import { focusHeading } from '../lib/focus-heading.ts'
import { log } from '../lib/log.ts'
import { loadSession, useSignedInUserId } from '../session.ts'
import { NotFound } from '../ui/NotFound.tsx'
import { InstanceName } from '../ui/Title.tsx'
import { TooltipHost } from '../ui/TooltipHost.tsx'
import { Logo } from './Logo.tsx'
import styles from './Root.module.css'

const Shell = lazy(async () => ({ default: (await import('./app/Shell.tsx')).Shell }))

/** Layout of all pages, including the pages for users who are not signed in. */
export function Root() {
  useExtraScripts()
  useRouteFocus()
  return (
    <InstanceName value={useConfig().instanceName}>
      <a className={styles.skip} href="#main">
        Skip to content
      </a>
      <Banner />
      <Outlet />
      <TooltipHost />
    </InstanceName>
  )
}

/**
 * Page for an unknown URL, with the top bar for signed-in users and the logo for others. The page loads the session itself, because it
 * has no parent route that loads it.
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

// The sanitizer is loaded only for instances with a banner. If loading fails, the page is shown without the banner.
const BannerText = lazy(async (): Promise<{ default: ComponentType<{ html: string }> }> => {
  try {
    return { default: (await import('./lazy/BannerText.tsx')).BannerText }
  } catch (error) {
    log.warn('No banner', error)
    return { default: () => null }
  }
})

/** The operator's announcement at the top of every page. */
function Banner() {
  const text = useConfig().banner?.text
  if (!text) return null
  return (
    <Suspense fallback={<Room html={text} />}>
      <BannerText html={text} />
    </Suspense>
  )
}

/** An empty banner of the height of the text. It keeps the page from moving when the text appears, so that a click hits what it was aimed at. */
function Room({ html }: { html: string }) {
  return (
    <div className="banner" aria-hidden>
      <span className="icon" />
      <span style={{ visibility: 'hidden' }}>{html.replace(/<[^>]*>/g, '')}</span>
    </div>
  )
}

const injected = new Set<string>()

/** Adds the scripts that the operator has configured to the document's head, each once. */
function useExtraScripts() {
  const { scripts } = useConfig()
  useEffect(() => {
    for (const { src, attributes = {} } of scripts ?? []) {
      if (injected.has(src)) continue
      injected.add(src)
      const script = document.createElement('script')
      for (const [name, value] of Object.entries(attributes)) script.setAttribute(name, value)
      script.src = src
      script.addEventListener('error', () => log.error(`Could not load the script ${src}`))
      document.head.append(script)
    }
  }, [scripts])
}

/** Moves the focus to the heading after each page change: keyboard navigation starts there, and screen readers announce it. */
function useRouteFocus() {
  const router = useRouter()
  useEffect(() => {
    let stopWaiting = () => {}
    const unsubscribe = router.subscribe('onRendered', ({ fromLocation, pathChanged, toLocation }) => {
      stopWaiting()
      if (!fromLocation || !pathChanged || toLocation.hash) return
      stopWaiting = focusHeading()
    })
    return () => {
      stopWaiting()
      unsubscribe()
    }
  }, [router])
}
