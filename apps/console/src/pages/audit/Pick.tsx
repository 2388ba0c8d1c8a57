import { ChevronDown } from 'lucide-react'
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { useShortcut } from '../../lib/app/shortcuts.ts'

type PickProps = {
  /** Name of the filter, for example "Actor". */
  label: string
  /** Label of the chosen option, for example "Anyone". */
  value: string
  /** Whether the filter is set. */
  isOn: boolean
  /** CSS class of the popover. */
  className: string
  /** Key that opens the popover. */
  keys?: string
  children: (close: () => void) => ReactNode
}

/** Distance between the button and the popover, in pixels. */
const GAP = 6
/** Minimum distance between the popover and the edge of the window, in pixels. */
const EDGE = 8

/** A button of a filter that opens a popover. On phones the popover is a panel at the bottom of the screen. */
export function Pick({ label, value, isOn, className, keys, children }: PickProps) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const popup = useRef<HTMLDivElement>(null)
  const popupId = useId()
  useLayoutEffect(() => {
    if (!isOpen || !popup.current || !button.current) return
    // A popover is in the top layer, so no ancestor clips it.
    popup.current.showPopover()
    place(popup.current, button.current.getBoundingClientRect())
    const first = popup.current.querySelector<HTMLElement>('[autofocus], [aria-pressed=true], input, button')
    first?.focus({ preventScroll: true })
  }, [isOpen])

  useEffect(() => {
    if (!isOpen) return
    const leave = ({ target }: Event) => {
      const isInside =
        target instanceof Node && (popup.current?.contains(target) || button.current?.contains(target))
      if (!isInside) setOpen(false)
    }
    const onScroll = ({ target }: Event) => target === document && setOpen(false)
    const onResize = () => setOpen(false)
    document.addEventListener('pointerdown', leave, true)
    document.addEventListener('focusin', leave)
    document.addEventListener('scroll', onScroll, true)
    window.addEventListener('resize', onResize)
    return () => {
      document.removeEventListener('pointerdown', leave, true)
      document.removeEventListener('focusin', leave)
      document.removeEventListener('scroll', onScroll, true)
      window.removeEventListener('resize', onResize)
    }
  }, [isOpen])

  function close() {
    setOpen(false)
    button.current?.focus({ preventScroll: true })
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Escape') return
    event.stopPropagation()
    close()
  }
  return (
    <span className="anchorbox">
      <button
        ref={button}
        type="button"
        className={isOn ? 'logpick on' : 'logpick'}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        {...(isOpen && { 'aria-controls': popupId })}
        onClick={() => setOpen(!isOpen)}
      >
        <span>{label}</span>
        <b>
          <bdi>{value}</bdi>
        </b>
        <ChevronDown className="i i-14" aria-hidden />
      </button>
      {keys && <OpenKey keys={keys} label={label} onPress={() => setOpen(true)} />}
      {isOpen && (
        <div
          ref={popup}
          id={popupId}
          popover="manual"
          role="dialog"
          aria-label={label}
          className={`logpop ${className}`}
          onKeyDown={onKeyDown}
        >
          {children(close)}
        </div>
      )}
    </span>
  )
}

function OpenKey({ keys, label, onPress }: { keys: string; label: string; onPress: () => void }) {
  useShortcut(keys, `Filter by ${label.toLowerCase()}`, onPress)
  return null
}

/** Places the popover below its button and inside of the window. On phones the style sheet places it. */
function place(popup: HTMLElement, button: DOMRect) {
  const { width } = popup.getBoundingClientRect()
  popup.style.setProperty(
    '--x',
    `${Math.max(EDGE, Math.min(button.left, window.innerWidth - width - EDGE))}px`,
  )
  popup.style.setProperty('--y', `${button.bottom + GAP}px`)
  popup.style.setProperty('--room', `${window.innerHeight - button.bottom - GAP - EDGE}px`)
}
