import { useNavigate, useRouterState } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useEffect, useEffectEvent } from 'react'
import { usePageAction } from '../../lib/app/page-actions.ts'
import { useShortcut } from '../../lib/app/shortcuts.ts'
import { Button, type ButtonProps } from '../Button.tsx'
import styles from './CreateButton.module.css'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Set by links that lead to a page and open its create dialog immediately. */
    isCreating?: boolean
  }
}

type CreateButtonProps = Pick<ButtonProps, 'variant' | 'icon'> & {
  children: string
  onClick: () => void
  /** Shows only the icon on phones, for pages whose heading and buttons do not fit into one line on a phone. */
  iconOnPhones?: boolean
}

/**
 * Button that opens a dialog or page in which the user creates an entity. The key `n` and a navigation with the history state
 * `isCreating` do the same.
 */
export function CreateButton({
  children,
  onClick,
  variant = 'primary',
  icon = Plus,
  iconOnPhones = false,
}: CreateButtonProps) {
  const shortcut = useShortcut('n', children, onClick)
  usePageAction({ label: children, icon, keys: 'n', run: onClick })
  const navigate = useNavigate()
  // Reads `resolvedLocation`, because `location` changes while the previous page is still on screen.
  const isWanted = useRouterState({
    select: ({ resolvedLocation }) => resolvedLocation?.state.isCreating === true,
  })
  const create = useEffectEvent(() => {
    // Removes the state first, so that a reload or Back does not open the dialog or page again.
    void navigate({ to: '.', search: true, hash: true, replace: true, resetScroll: false }).then(onClick)
  })
  useEffect(() => {
    if (isWanted) create()
  }, [isWanted])
  return (
    <Button {...shortcut} variant={variant} icon={icon} onClick={onClick}>
      {iconOnPhones ? <span className={styles.label}>{children}</span> : children}
    </Button>
  )
}
