import { Autocomplete } from '@base-ui/react/autocomplete'
import type { ReactNode, RefObject } from 'react'
import '../../styles/options.css'

const GAP = 4
const EDGE = 8

type OptionsPopupProps = {
  /** Element below which the options are placed. They get its width. */
  anchor: RefObject<HTMLElement | null>
  children: ReactNode
}

/** The open list below a box of `Autocomplete`. It is a popover, which is in the top layer, so no ancestor clips it. */
export function OptionsPopup({ anchor, children }: OptionsPopupProps) {
  return (
    <Autocomplete.Portal container={anchor}>
      <Autocomplete.Positioner
        ref={node => node?.showPopover()}
        popover="manual"
        className="options-place"
        anchor={anchor}
        sideOffset={GAP}
        collisionPadding={EDGE}
        positionMethod="fixed"
      >
        {/* The library's `Popup` would hide all other elements of the page from assistive technology while the list is open. */}
        <div className="options">{children}</div>
      </Autocomplete.Positioner>
    </Autocomplete.Portal>
  )
}
