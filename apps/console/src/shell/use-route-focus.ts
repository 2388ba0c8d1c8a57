import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { focusHeading } from '../lib/focus-heading.ts'

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
