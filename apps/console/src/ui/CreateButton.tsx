import { useNavigate, useRouterState } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useEffect, useEffectEvent } from 'react'
import { useShortcut } from '../lib/shortcuts.ts'
import { Button, type ButtonProps } from './Button.tsx'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Whoever comes wants to make something new. */
    isCreating?: boolean
  }
}

type CreateButtonProps = Pick<ButtonProps, 'variant' | 'icon'> & { children: string; onClick: () => void }

/** Opens the dialog with which a page makes something new, as do `n` and coming to the page for it. */
export function CreateButton({ children, onClick, variant = 'primary', icon = Plus }: CreateButtonProps) {
  const shortcut = useShortcut('n', children, onClick)
  const navigate = useNavigate()
  // Where one is: the page before is still on screen when `location` is the next one's.
  const isWanted = useRouterState({
    select: ({ resolvedLocation }) => resolvedLocation?.state.isCreating === true,
  })
  const create = useEffectEvent(() => {
    // Once: a reload or the way back is no wish for another one.
    void navigate({ to: '.', search: true, hash: true, replace: true, resetScroll: false })
    onClick()
  })
  useEffect(() => {
    if (isWanted) create()
  }, [isWanted])
  return (
    <Button {...shortcut} variant={variant} icon={icon} onClick={onClick}>
      {children}
    </Button>
  )
}
