import { Popover as Base } from '@base-ui/react/popover'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { keepFocus } from '../../lib/focus-heading.ts'
import styles from './Popover.module.css'
import { TOP_LAYER } from './top-layer.ts'

/** Distance in pixels from the panel to the window's edge. */
const EDGE_PX = 16
/** Distance in pixels from the panel to its opener. */
const GAP_PX = 6

type PopoverProps = {
  /** Accessible name. */
  label: string
  className: string
  /** Returns the element that opened the panel. The panel is placed below it, and the focus returns to it. */
  opener: () => HTMLElement | null
  onClose: () => void
  children: ReactNode
}

/**
 * A panel below its opener, open while it is mounted; on phones a sheet at the bottom. Its first field or chosen option gets the focus.
 * Escape, a click beside it and a focus elsewhere close it.
 */
export function Popover({ label, className, opener, onClose, children }: PopoverProps) {
  // A state, because the library looks for its container before a ref of the same render is set.
  const [root, setRoot] = useState<HTMLSpanElement | null>(null)
  const popup = useRef<HTMLDivElement>(null)
  // The opener may have disappeared, for example a condition that was changed.
  useEffect(() => () => void setTimeout(keepFocus), [])
  return (
    <Base.Root open onOpenChange={onClose}>
      <span ref={setRoot} className={styles.root}>
        <Base.Portal container={root}>
          {/* Without the backdrop, a click that closes the panel would also press what is below the pointer. */}
          <Base.Backdrop ref={TOP_LAYER.ref} popover={TOP_LAYER.popover} className={styles.scrim} />
          <Base.Positioner
            {...TOP_LAYER}
            className={`${TOP_LAYER.className} ${styles.place}`}
            // Without an anchor the library leaves the panel transparent. On phones the opener is an item of a menu that has closed.
            anchor={() => opener() ?? root}
            align="start"
            sideOffset={GAP_PX}
            collisionPadding={EDGE_PX}
            collisionAvoidance={{ fallbackAxisSide: 'none' }}
          >
            <Base.Popup
              ref={popup}
              className={`${styles.popup} ${className}`}
              aria-label={label}
              initialFocus={() => popup.current!.querySelector<HTMLElement>('input, [aria-pressed=true]')}
              finalFocus={opener}
            >
              {children}
            </Base.Popup>
          </Base.Positioner>
        </Base.Portal>
      </span>
    </Base.Root>
  )
}
