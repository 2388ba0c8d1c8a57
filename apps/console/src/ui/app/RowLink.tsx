import { useRouter } from '@tanstack/react-router'
import type { MouseEvent, ReactNode } from 'react'

type RowLinkProps = {
  /** Path of a page of the console. */
  href: string
  className: string
  children: ReactNode
}

/**
 * Link in a row of a long list. The router's `Link` computes its address again at each change of the URL. With hundreds of links, this
 * would delay each change of filter or order.
 */
export function RowLink({ href, className, children }: RowLinkProps) {
  const router = useRouter()
  const preload = () => void router.preloadRoute({ to: href } as never).catch(() => {})
  function onClick(event: MouseEvent) {
    // With a modifier key, browsers open the link in a new tab or window, or download it.
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void router.navigate({ href })
  }
  return (
    <a href={href} className={className} onClick={onClick} onMouseEnter={preload} onFocus={preload}>
      {children}
    </a>
  )
}
