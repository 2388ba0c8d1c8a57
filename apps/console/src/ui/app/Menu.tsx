import { createLink } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import {
  type ComponentProps,
  cloneElement,
  createContext,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { formatCount } from '../../lib/app/format.ts'
import type { IconType } from '../icon.ts'

type Align = 'start' | 'end'

type MenuProps = {
  /** The button that opens the menu. */
  trigger: ReactElement<ComponentProps<'button'>>
  align?: Align
  /** Label of a filter box above the items. Without a label there is no filter box. */
  filterLabel?: string | undefined
  /** The items, or a function that returns the items for a filter text. */
  children: ReactNode | ((filter: string) => ReactNode)
}

const CloseMenu = createContext(() => {})

/** A dropdown menu with arrow keys, type-ahead, Home, End and Escape. */
export function Menu({ trigger, align = 'start', filterLabel, children }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const triggerId = useId()
  const root = useRef<HTMLSpanElement>(null)

  function close() {
    setOpen(false)
    document.getElementById(triggerId)?.focus({ preventScroll: true })
  }
  const button = cloneElement(trigger, {
    id: triggerId,
    'aria-haspopup': 'menu',
    'aria-expanded': isOpen,
    onClick: () => setOpen(!isOpen),
    onKeyDown: event => {
      if (event.key !== 'ArrowDown') return
      event.preventDefault()
      setOpen(true)
    },
  })
  return (
    <span ref={root} className="menu-root">
      {button}
      {isOpen && (
        <CloseMenu value={close}>
          <MenuPopup
            root={root}
            triggerId={triggerId}
            align={align}
            filterLabel={filterLabel}
            onLeave={() => setOpen(false)}
          >
            {children}
          </MenuPopup>
        </CloseMenu>
      )}
    </span>
  )
}

type MenuPopupProps = Required<Pick<MenuProps, 'align' | 'children'>> & {
  root: RefObject<HTMLElement | null>
  triggerId: string
  filterLabel: string | undefined
  /** Called after a click or focus outside of the menu. Closes the menu without moving the focus back. */
  onLeave: () => void
}

function MenuPopup({ root, triggerId, align, filterLabel, onLeave, children }: MenuPopupProps) {
  const ref = useRef<HTMLDivElement>(null)
  const close = useContext(CloseMenu)
  const typed = useRef({ text: '', atMs: 0 })
  const [filter, setFilter] = useState('')

  useLayoutEffect(() => {
    const trigger = document.getElementById(triggerId)
    if (!ref.current || !trigger) return
    // A popover is in the top layer, so no ancestor clips it.
    ref.current.showPopover()
    place(ref.current, trigger.getBoundingClientRect(), align)
    const first = ref.current.querySelector('input') ?? itemsOf(ref.current)[0]
    first?.focus({ preventScroll: true })
  }, [triggerId, align])

  useEffect(() => {
    const isOutside = (target: EventTarget | null) =>
      !(target instanceof Node && root.current?.contains(target))
    const onPointerDown = ({ target }: PointerEvent) => isOutside(target) && onLeave()
    const onFocusIn = ({ target }: FocusEvent) => isOutside(target) && onLeave()
    const onScroll = ({ target }: Event) => target !== ref.current && onLeave()
    document.addEventListener('pointerdown', onPointerDown, true)
    document.addEventListener('focusin', onFocusIn)
    document.addEventListener('scroll', onScroll, true)
    window.addEventListener('resize', onLeave)
    return () => {
      document.removeEventListener('pointerdown', onPointerDown, true)
      document.removeEventListener('focusin', onFocusIn)
      document.removeEventListener('scroll', onScroll, true)
      window.removeEventListener('resize', onLeave)
    }
  }, [root, onLeave])

  function onKeyDown(event: KeyboardEvent) {
    if (!ref.current) return
    const items = itemsOf(ref.current)
    const isInBox = event.target instanceof HTMLInputElement
    const next = isInBox && !isLeavingBox(event.key) ? undefined : nextItem(event.key, items, typed.current)
    if (event.key === 'Escape') close()
    else if (event.key === 'Tab') return close()
    else if (isInBox && event.key === 'Enter') items[0]?.click()
    else if (isInBox && !next) return
    else if (event.key === ' ' && document.activeElement instanceof HTMLElement)
      document.activeElement.click()
    else if (next) next.focus()
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: handles the keys of the filter box and the items
    <div ref={ref} className="menu" popover="manual" onKeyDown={onKeyDown}>
      {filterLabel && (
        <input
          className="input menu-filter"
          type="search"
          aria-label={filterLabel}
          placeholder="Filter"
          autoComplete="off"
          value={filter}
          onChange={event => setFilter(event.target.value)}
        />
      )}
      <div role="menu" tabIndex={-1} aria-labelledby={triggerId}>
        {typeof children === 'function' ? children(filter.trim()) : children}
      </div>
    </div>
  )
}

const EDGE = 8
const GAP = 4
const TYPE_AHEAD_MS = 600

/** Whether a key moves the focus from the filter box to the items. All other keys are input. */
function isLeavingBox(key: string): boolean {
  return key === 'ArrowDown' || key === 'ArrowUp'
}

function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]')]
}

/**
 * Places the menu below its trigger. If the menu does not fit there and there is more room above the trigger, places it above.
 * Limits the menu's height to the room that it has.
 */
function place(menu: HTMLElement, trigger: DOMRect, align: Align) {
  const { width, height } = menu.getBoundingClientRect()
  const wanted = align === 'end' ? trigger.right - width : trigger.left
  menu.style.left = `${Math.max(EDGE, Math.min(wanted, window.innerWidth - width - EDGE))}px`
  const below = window.innerHeight - trigger.bottom - GAP - EDGE
  const above = trigger.top - GAP - EDGE
  const isBelow = height <= below || below >= above
  menu.style.top = `${isBelow ? trigger.bottom + GAP : trigger.top - GAP - Math.min(height, above)}px`
  menu.style.maxHeight = `${isBelow ? below : above}px`
}

/** The item that a key moves to, if any. Letters find items by the start of their text (type-ahead). */
function nextItem(
  key: string,
  items: HTMLElement[],
  typed: { text: string; atMs: number },
): HTMLElement | undefined {
  const at = items.indexOf(document.activeElement as HTMLElement)
  switch (key) {
    case 'ArrowDown':
      return items[(at + 1) % items.length]
    case 'ArrowUp':
      return items.at(Math.max(at, 0) - 1)
    case 'Home':
      return items[0]
    case 'End':
      return items.at(-1)
  }
  if (key.length !== 1 || key === ' ') return undefined
  const nowMs = Date.now()
  typed.text = (nowMs - typed.atMs < TYPE_AHEAD_MS ? typed.text : '') + key.toLowerCase()
  typed.atMs = nowMs
  const fromHere = [...items.slice(at + 1), ...items.slice(0, at + 1)]
  const order = typed.text.length > 1 ? items : fromHere
  return order.find(item => item.textContent.trim().toLowerCase().startsWith(typed.text))
}

type MenuItemProps = { icon?: IconType; onSelect: () => void; children: ReactNode }

/** An action in a menu. */
export function MenuItem({ icon: Icon, onSelect, children }: MenuItemProps) {
  const close = useContext(CloseMenu)
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      className="menu-item"
      onClick={() => {
        close()
        onSelect()
      }}
    >
      {Icon && <Icon className="i" aria-hidden />}
      {children}
    </button>
  )
}

type MenuAnchorProps = Omit<ComponentProps<'a'>, 'className'> & {
  icon?: IconType
  checked?: boolean
  /** Number of open items on the linked page, for example invitations. It is not part of the accessible name. */
  count?: number | undefined
}

/** A menu link that the browser follows without the router, for downloads. */
export function MenuAnchor({ icon: Icon, checked, count, onClick, children, ...rest }: MenuAnchorProps) {
  const close = useContext(CloseMenu)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter clicks a link
    <a
      {...rest}
      role="menuitem"
      tabIndex={-1}
      className="menu-item"
      // biome-ignore lint/a11y/useValidAnchor: the router sets `href`
      onClick={event => {
        close()
        onClick?.(event)
      }}
    >
      {Icon && <Icon className="i" aria-hidden />}
      <span className="grow trunc">{children}</span>
      {count !== undefined && (
        <span className="n" aria-hidden="true">
          {formatCount(count)}
        </span>
      )}
      {checked && <Check className="i" aria-hidden />}
    </a>
  )
}

/** A menu link to a page; `checked` marks the current page. */
export const MenuLink = createLink(MenuAnchor)

type MenuChoiceProps<T extends string> = {
  label: string
  value: T
  options: readonly { value: T; label: string; icon?: IconType }[]
  onChange: (value: T) => void
}

/** A radio group in a menu. */
export function MenuChoice<T extends string>({ label, value, options, onChange }: MenuChoiceProps<T>) {
  const close = useContext(CloseMenu)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is not a valid group in a menu
    <div role="group" aria-label={label}>
      {options.map(option => (
        <button
          key={option.value}
          type="button"
          role="menuitemradio"
          aria-checked={option.value === value}
          tabIndex={-1}
          className="menu-item"
          onClick={() => {
            close()
            onChange(option.value)
          }}
        >
          {option.icon && <option.icon className="i" aria-hidden />}
          <span className="grow">{option.label}</span>
          {option.value === value && <Check className="i" aria-hidden />}
        </button>
      ))}
    </div>
  )
}

/** A line between groups of a menu. */
export function MenuLine() {
  return <hr className="menu-line" />
}

/** Text at the top of a menu; not selectable. */
export function MenuHead({ children }: { children: ReactNode }) {
  return (
    <div className="menu-head" role="presentation">
      {children}
    </div>
  )
}
