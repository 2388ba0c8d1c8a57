import { useElementScrollRestoration, useLocation, useRouter } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

/** Time in milliseconds within which a page must have become high enough for the place where the user left it. */
const GIVE_UP_MS = 5000
/** Events by which a user chooses another place. */
const CHOICES = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const

/**
 * Scrolls to the place where the user left the page once its content has loaded. The router scrolls when the page is rendered, which is often
 * before its lists are there, and then the page is too short. A new page starts where its own code scrolls to: until it is rendered, the router
 * counts scrolls of the page before as its own.
 */
export function useLatePlace() {
  const { history } = useRouter()
  const isNew = useRef(false)
  useEffect(
    () =>
      history.subscribe(({ action: { type } }) => {
        isNew.current = type === 'PUSH'
      }),
    [history],
  )
  const key = useLocation({ select: ({ state, href }) => state.__TSR_key ?? href })
  const place = useElementScrollRestoration({ getElement: () => window })
  const atY = place?.scrollY ?? 0
  // biome-ignore lint/correctness/useExhaustiveDependencies: each entry of the history has a place of its own
  useEffect(() => (atY > 0 && !isNew.current ? scrollWhenHighEnough(atY) : undefined), [key, atY])
}

/** Scrolls to a place as soon as the document is high enough, unless the user chooses another place before. Returns a function that gives up. */
function scrollWhenHighEnough(atY: number): () => void {
  const root = document.documentElement
  const stop = () => {
    observer.disconnect()
    clearTimeout(timer)
    for (const choice of CHOICES) removeEventListener(choice, stop)
  }
  const observer = new ResizeObserver(() => {
    if (root.scrollHeight - innerHeight < atY) return
    scrollTo({ top: atY })
    stop()
  })
  const timer = setTimeout(stop, GIVE_UP_MS)
  for (const choice of CHOICES) addEventListener(choice, stop, { passive: true })
  observer.observe(document.body)
  return stop
}
