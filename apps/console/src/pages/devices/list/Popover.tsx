import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { Modal } from '../../../ui/app/Dialog.tsx'

/** Distance in pixels from the panel to the window's edge. */
const EDGE_PX = 16
/** Distance in pixels from the panel to its button. */
const GAP_PX = 6
/** Minimum height, in pixels, of the space below the button. If there is less space, the panel begins at the window's top. */
const MIN_HEIGHT_PX = 320

type PopoverProps = {
  /** Accessible name. */
  label: string
  className: string
  /** The button that opened the panel. The panel is placed below it. */
  opener: () => Element | null
  onClose: () => void
  children: ReactNode
}

/** A panel below its button, open while it is mounted; on phones a sheet at the bottom. Escape and a click beside it close it. */
export function Popover({ label, className, opener, onClose, children }: PopoverProps) {
  const inner = useRef<HTMLDivElement>(null)
  const isNarrow = useIsNarrow()
  // Runs after every render, because each render may change the panel's width or move the button.
  useLayoutEffect(() => {
    place()
    addEventListener('resize', place)
    return () => removeEventListener('resize', place)
  })

  function place() {
    const panel = inner.current?.closest('dialog')
    const button = opener()?.getBoundingClientRect()
    if (!panel) return
    if (isNarrow || !button) {
      panel.removeAttribute('style')
      return
    }
    const room = document.documentElement.clientWidth - panel.offsetWidth - EDGE_PX
    const below = window.innerHeight - button.bottom - GAP_PX - EDGE_PX
    const top = below < MIN_HEIGHT_PX ? EDGE_PX : button.bottom + GAP_PX
    const isAtEnd = button.left + panel.offsetWidth > document.documentElement.clientWidth - EDGE_PX
    const left = isAtEnd ? Math.min(button.right - panel.offsetWidth, room) : button.left
    panel.style.left = `${Math.max(EDGE_PX, left)}px`
    panel.style.top = `${top}px`
    panel.style.maxHeight = `${window.innerHeight - top - EDGE_PX}px`
  }

  return (
    <Modal className={`pop ${className}`} label={label} onAsk={onClose}>
      <div ref={inner} className="popin">
        <span className="grab" aria-hidden="true" />
        {children}
      </div>
    </Modal>
  )
}
