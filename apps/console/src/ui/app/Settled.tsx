import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { focusHeading } from '../../lib/focus-heading.ts'
import skeletons from '../Skeleton.module.css'
import styles from './Settled.module.css'

/** Time since the last first answer, in milliseconds, after which the content is shown. A query that hangs then no longer holds up the others. */
const HUNG_MS = 6_000
/** Time, in milliseconds, without a first answer outstanding. An answer may lead to another query, which begins after it is rendered. */
const QUIET_MS = 40

type SettledProps = {
  /** Placeholder with the shape of the content. */
  skeleton: ReactNode
  /** Text for screen readers, for example "Loading device". */
  label: string
  children: ReactNode
}

/**
 * Content whose parts load one by one. It is laid out but hidden until all of its first answers, its code and its fonts have arrived, so that no part
 * moves another one that a person already reads. Afterwards it stays visible.
 */
export function Settled({ skeleton, label, children }: SettledProps) {
  const cache = useQueryClient().getQueryCache()
  const [isShown, setShown] = useState(false)
  const content = useRef<HTMLDivElement>(null)
  const placeholder = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isShown) return
    let quiet: ReturnType<typeof setTimeout> | undefined
    const show = () => {
      // The heading of the placeholder may have the focus, which moves to the heading of the content.
      const hadFocus = placeholder.current?.contains(document.activeElement) ?? false
      setShown(true)
      if (hadFocus) requestAnimationFrame(() => focusHeading())
    }
    let deadline = setTimeout(show, HUNG_MS)
    let loadingBefore = 0
    const look = () => {
      const loading = cache
        .getAll()
        .filter(({ state }) => state.fetchStatus === 'fetching' && state.data === undefined).length
      if (loading < loadingBefore) {
        clearTimeout(deadline)
        deadline = setTimeout(show, HUNG_MS)
      }
      loadingBefore = loading
      clearTimeout(quiet)
      // Text in the font of the system has other widths, so its lines break elsewhere.
      if (loading > 0 || document.fonts.status === 'loading') return
      quiet = setTimeout(() => {
        if (!content.current?.querySelector('.skeleton')) show()
      }, QUIET_MS)
    }
    const unsubscribe = cache.subscribe(look)
    // Code that has loaded changes the document without an event of the cache.
    const observer = new MutationObserver(look)
    if (content.current) observer.observe(content.current, { childList: true, subtree: true })
    document.fonts.addEventListener('loadingdone', look)
    look()
    return () => {
      unsubscribe()
      document.fonts.removeEventListener('loadingdone', look)
      observer.disconnect()
      clearTimeout(quiet)
      clearTimeout(deadline)
    }
  }, [cache, isShown])
  return (
    <div className={styles.settled} data-settled>
      {!isShown && (
        <div ref={placeholder} className={`${styles.placeholder} ${skeletons.appearing}`} aria-busy="true">
          <span className="visually-hidden">{label}</span>
          {skeleton}
        </div>
      )}
      <div ref={content} className={isShown ? undefined : styles.hidden} data-pending={!isShown}>
        {children}
      </div>
    </div>
  )
}
