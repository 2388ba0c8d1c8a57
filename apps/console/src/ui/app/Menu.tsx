import { ActionError } from '@muster/actions/client'
import { createLink } from '@tanstack/react-router'
import {
  type ComponentProps,
  cloneElement,
  createContext,
  type ReactElement,
  type ReactNode,
  useContext,
  useId,
  useRef,
  useState,
} from 'react'
import { loadCode } from '../../lib/load-code.ts'
import styles from './Menu.module.css'
import type { MenuAnchorProps, MenuChoiceProps, MenuItemProps } from './menu-props.ts'
import { toastError } from './toast.ts'

type Parts = typeof import('../lazy/menu-parts.tsx')

let loading: Promise<Parts> | undefined
let loaded: Parts | undefined

/** Loads the code of open menus, which the first paint does not need. */
function loadParts(): Promise<Parts> {
  loading ??= loadCode(() => import('../lazy/menu-parts.tsx')).then(
    parts => {
      loaded = parts
      return parts
    },
    (error: unknown) => {
      loading = undefined
      throw error
    },
  )
  return loading
}

/** Loads the code before the user presses the button. A failure is ignored here and reported when the user opens the menu. */
const preload = () => void loadParts().catch(() => {})

type MenuProps = {
  /** The button that opens the menu. */
  trigger: ReactElement<ComponentProps<'button'>>
  align?: 'start' | 'end'
  /** Label of a filter box above the items. Without a label there is no filter box. */
  filterLabel?: string | undefined
  /** The items, or a function that returns the items for a filter text. */
  children: ReactNode | ((filter: string) => ReactNode)
}

/** The components of the open menu, and the function with which an item closes it. */
const OpenMenu = createContext<{ parts: Parts; close: () => void } | undefined>(undefined)

/** Parts of the surrounding menu. Throws outside of an open menu. */
function useOpenMenu() {
  const menu = useContext(OpenMenu)
  if (!menu) throw new Error('The item is outside of a menu')
  return menu
}

/**
 * A dropdown menu with arrow keys, type-ahead, Home, End and Escape. The code of the open menu loads when the pointer or the focus
 * reaches its button, so that the first press finds it.
 */
export function Menu({ trigger, align = 'start', filterLabel, children }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const [parts, setParts] = useState(loaded)
  const triggerId = useId()
  const root = useRef<HTMLSpanElement>(null)
  const button = useRef<HTMLElement>(null)

  function open() {
    button.current = document.getElementById(triggerId)
    setOpen(true)
    if (parts) return
    loadParts().then(
      next => setParts(next),
      (error: unknown) => {
        setOpen(false)
        // The browser's message about the code file that it could not load does not help users.
        toastError(
          'Could not open the menu',
          error instanceof ActionError ? error : new Error('Reload the page and try again.'),
        )
      },
    )
  }
  const leave = () => setOpen(false)
  function close() {
    leave()
    document.getElementById(triggerId)?.focus({ preventScroll: true })
  }
  const element = cloneElement(trigger, {
    id: triggerId,
    'aria-haspopup': 'menu',
    'aria-expanded': isOpen,
    onPointerEnter: preload,
    onFocus: preload,
    onClick: () => (isOpen ? leave() : open()),
    onKeyDown: event => {
      if (event.key === 'Escape' && isOpen) leave()
      if (event.key !== 'ArrowDown') return
      event.preventDefault()
      open()
    },
  })
  return (
    <span ref={root} className={styles.menu} data-menu>
      {element}
      {isOpen &&
        (parts ? (
          <OpenMenu value={{ parts, close }}>
            <parts.MenuPopup
              root={root}
              trigger={button}
              triggerId={triggerId}
              align={align}
              filterLabel={filterLabel}
              onClose={close}
              onLeave={leave}
            >
              {children}
            </parts.MenuPopup>
          </OpenMenu>
        ) : (
          // Exists while the code of the open menu loads. Shortcuts of the page are then off, because pressed keys are meant for the menu.
          <span data-menu-loading hidden />
        ))}
    </span>
  )
}

/** An action in a menu. */
export function MenuItem(props: MenuItemProps) {
  const { parts, close } = useOpenMenu()
  return <parts.Item {...props} close={close} />
}

/** A menu link that the browser follows without the router, for downloads. */
export function MenuAnchor(props: MenuAnchorProps) {
  const { parts, close } = useOpenMenu()
  return <parts.Anchor {...props} close={close} />
}

/** A menu link to a page; `checked` marks the current page. */
export const MenuLink = createLink(MenuAnchor)

/** A radio group in a menu. */
export function MenuChoice<T extends string>(props: MenuChoiceProps<T>) {
  const { parts, close } = useOpenMenu()
  return <parts.Choice {...props} close={close} />
}

/** A line between groups of a menu. */
export function MenuLine() {
  const { parts } = useOpenMenu()
  return <parts.Line />
}

/** Text at the top of a menu; not selectable. */
export function MenuHead({ children }: { children: ReactNode }) {
  const { parts } = useOpenMenu()
  return <parts.Head>{children}</parts.Head>
}
