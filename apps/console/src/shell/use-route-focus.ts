import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'

const GIVE_UP_MS = 5000

/** After a change of page moves the focus to its heading, so that keyboards start there and screen readers say it. */
export function useRouteFocus() {
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

/** Focuses the page's heading, waiting for it while the page loads; returns how to stop waiting. */
export function focusHeading(): () => void {
  const before = document.activeElement
  const tryNow = () => {
    const heading = document.querySelector<HTMLElement>('main h1')
    heading?.focus({ preventScroll: true })
    return heading !== null
  }
  if (tryNow()) return () => {}
  const observer = new MutationObserver(() => {
    const movedOn = document.activeElement !== before && document.activeElement !== document.body
    if (movedOn || tryNow()) observer.disconnect()
  })
  observer.observe(document.body, { childList: true, subtree: true })
  const timer = setTimeout(() => observer.disconnect(), GIVE_UP_MS)
  return () => {
    clearTimeout(timer)
    observer.disconnect()
  }
}
