import { useRouter } from '@tanstack/react-router'
import type { ComponentProps, MouseEvent } from 'react'
import { afterPaint } from '../../lib/app/after-paint.ts'

type RowLinkProps = Omit<ComponentProps<'a'>, 'onClick' | 'onMouseEnter' | 'onFocus'> & {
  /** Path of a page of the console. */
  href: string
}

/**
 * Link in a long list. The pressed link is painted before its page opens. The router's `Link` would compute its address again at each
 * change of the URL; with hundreds of links, this would delay each change of filter or sort order.
 */
export function RowLink({ href, ...rest }: RowLinkProps) {
  const router = useRouter()
  const preload = () => void router.preloadRoute({ to: href.split('?')[0] } as never).catch(() => {})
  function onClick(event: MouseEvent) {
    // With a modifier key, browsers open the link in a new tab or window, or download it.
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    afterPaint(() => void router.navigate({ href }))
  }
  return <a {...rest} href={href} onClick={onClick} onMouseEnter={preload} onFocus={preload} />
}
