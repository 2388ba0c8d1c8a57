import { Menu } from '@base-ui/react/menu'
import { Check } from 'lucide-react'
import {
  type ComponentProps,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from 'react'
import { formatCount } from '../../lib/app/format.ts'
import type { MenuAnchorProps, MenuChoiceProps, MenuItemProps } from '../app/menu-props.ts'
import raised from '../app/raised.module.css'
import styles from './menu.module.css'
import { TOP_LAYER } from './top-layer.ts'

type MenuPopupProps = {
  /** Element around the trigger, inside which the menu is placed. */
  root: RefObject<HTMLElement | null>
  trigger: RefObject<HTMLElement | null>
  triggerId: string
  align: 'start' | 'end'
  filterLabel: string | undefined
  /** Closes the menu and returns the focus to the trigger. */
  onClose: () => void
  /** Closes the menu and leaves the focus where it is, after a click or a focus elsewhere. */
  onLeave: () => void
  children: ReactNode | ((filter: string) => ReactNode)
}

/** Property of the library's popup that its TypeScript type lacks. The popup passes it to its focus manager. */
const initialFocus = (first: () => HTMLElement | true) => ({ initialFocus: first }) as object

const GAP = 4
const EDGE = 8

/** The open menu. Its filter box, or else its first item, gets the focus. Scrolling the page or resizing the window closes it. */
export function MenuPopup(props: MenuPopupProps) {
  const { root, trigger, triggerId, align, filterLabel, onClose, onLeave, children } = props
  const popup = useRef<HTMLDivElement>(null)
  const [filter, setFilter] = useState('')
  const leave = useEffectEvent(onLeave)

  useEffect(() => {
    const onScroll = ({ target }: Event) => {
      if (!(target instanceof Node && popup.current?.contains(target))) leave()
    }
    const onResize = () => leave()
    document.addEventListener('scroll', onScroll, true)
    window.addEventListener('resize', onResize)
    return () => {
      document.removeEventListener('scroll', onScroll, true)
      window.removeEventListener('resize', onResize)
    }
  }, [])

  // Tab closes the menu and returns the focus to the trigger. The browser then moves it to the element after the trigger. CSS hides the
  // focus guards, focusable elements that the library adds around the popup: `aria-hidden` alone would leave them in the tab order.
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === 'Tab') onClose()
  }
  const onOpenChange = (_isOpen: boolean, { reason, event }: Menu.Root.ChangeEventDetails) => {
    // The trigger is outside of the library's menu. Its own click closes the menu.
    if (event.target instanceof Node && trigger.current?.contains(event.target)) return
    if (reason === 'outside-press') onLeave()
    else onClose()
  }
  const first = () => popup.current?.querySelector<HTMLElement>('input, [role^="menuitem"]') ?? true
  return (
    <Menu.Root open modal={false} highlightItemOnHover={false} onOpenChange={onOpenChange}>
      <Menu.Portal container={root}>
        <Menu.Positioner
          {...TOP_LAYER}
          anchor={trigger}
          align={align}
          sideOffset={GAP}
          collisionPadding={EDGE}
        >
          <Menu.Popup
            ref={popup}
            className={`${styles.menu} ${raised.raised}`}
            onKeyDown={onKeyDown}
            finalFocus={false}
            {...initialFocus(first)}
            {...(!filterLabel && { 'aria-labelledby': triggerId })}
          >
            {filterLabel ? (
              <>
                <FilterBox label={filterLabel} value={filter} onChange={setFilter} popup={popup} />
                <Menu.List aria-labelledby={triggerId}>
                  {typeof children === 'function' ? children(filter.trim()) : children}
                </Menu.List>
              </>
            ) : typeof children === 'function' ? (
              children('')
            ) : (
              children
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

type FilterBoxProps = {
  label: string
  value: string
  onChange: (value: string) => void
  popup: RefObject<HTMLElement | null>
}

/** Filter above the items. The focus moves to the items with the arrow keys; Enter chooses the first item. */
function FilterBox({ label, value, onChange, popup }: FilterBoxProps) {
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === 'Escape' || event.key === 'Tab') return
    // All other keys are input for the filter. They must not reach the type-ahead search of the menu.
    event.stopPropagation()
    const items = [...(popup.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])]
    if (event.key === 'ArrowDown') items[0]?.focus()
    else if (event.key === 'ArrowUp') items.at(-1)?.focus()
    else if (event.key === 'Enter') items[0]?.click()
    else return
    event.preventDefault()
  }
  return (
    <input
      className={`input ${styles.filter}`}
      type="search"
      aria-label={label}
      placeholder="Filter"
      autoComplete="off"
      value={value}
      onChange={event => onChange(event.target.value)}
      onKeyDown={onKeyDown}
    />
  )
}

type ClosingProps = { close: () => void }

/** An action in a menu. */
export function Item({ icon: Icon, onSelect, close, children }: MenuItemProps & ClosingProps) {
  return (
    <Menu.Item
      nativeButton
      render={<button type="button" />}
      className={`row ${styles.item}`}
      closeOnClick={false}
      onClick={() => {
        close()
        onSelect()
      }}
    >
      {Icon && <Icon className="icon" aria-hidden />}
      {children}
    </Menu.Item>
  )
}

/** A link in a menu. */
export function Anchor({
  icon: Icon,
  checked,
  count,
  close,
  onClick,
  children,
  ...rest
}: MenuAnchorProps & ClosingProps) {
  return (
    <Menu.LinkItem
      {...(rest as ComponentProps<'a'>)}
      className={`row ${styles.item}`}
      onClick={event => {
        close()
        onClick?.(event)
      }}
    >
      {Icon && <Icon className="icon" aria-hidden />}
      <span className="grow truncated">{children}</span>
      {count !== undefined && (
        <span className={styles.count} aria-hidden="true">
          {formatCount(count)}
        </span>
      )}
      {checked && <Check className="icon" aria-hidden />}
    </Menu.LinkItem>
  )
}

/** A radio group in a menu. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
  close,
}: MenuChoiceProps<T> & ClosingProps) {
  return (
    <Menu.RadioGroup
      aria-label={label}
      value={value}
      onValueChange={(next: T) => {
        close()
        onChange(next)
      }}
    >
      {options.map(option => (
        <Menu.RadioItem
          key={option.value}
          value={option.value}
          nativeButton
          render={<button type="button" />}
          className={`row ${styles.item}`}
          onClick={() => option.value === value && close()}
        >
          {option.icon && <option.icon className="icon" aria-hidden />}
          <span className="grow">{option.label}</span>
          {option.value === value && <Check className="icon" aria-hidden />}
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  )
}

/** A line between groups of a menu. */
export function Line() {
  return <Menu.Separator className={styles.line} />
}

/** Text at the top of a menu; not selectable. */
export function Head({ children }: { children: ReactNode }) {
  return (
    <div className={styles.head} role="presentation">
      {children}
    </div>
  )
}
