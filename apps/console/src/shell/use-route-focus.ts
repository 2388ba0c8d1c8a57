import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { focusHeading } from '../lib/focus-heading.ts'

/** Moves the focus to the heading after each page change: keyboard navigation starts there, and screen readers announce it. */
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
