import { Search } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'

const Palette = lazy(async () => ({ default: (await import('./Palette.tsx')).Palette }))

/** The keys that open it, as they are written on keyboards. */
export const JUMP_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K'

/** Opens the palette, as do ⌘K and Ctrl K from everywhere. */
export function JumpButton() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent) {
      const isShortcut = event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)
      if (!isShortcut || event.altKey || event.shiftKey) return
      // Before the browser's own meaning of it.
      event.preventDefault()
      setOpen(open => !open && !document.querySelector('dialog[open]'))
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <>
      <button
        type="button"
        className="jump"
        aria-label="Jump to"
        aria-haspopup="dialog"
        aria-keyshortcuts="Meta+K Control+K"
        onClick={() => setOpen(true)}
      >
        <Search className="i" aria-hidden />
        <span>Jump to…</span>
        <kbd>{JUMP_KEYS.replace('⌘ ', '⌘')}</kbd>
      </button>
      {isOpen && (
        <Suspense>
          <Palette onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
