import { Plus } from 'lucide-react'
import { useShortcut } from '../lib/shortcuts.ts'
import { Button, type ButtonProps } from './Button.tsx'

type CreateButtonProps = Pick<ButtonProps, 'variant' | 'icon'> & { children: string; onClick: () => void }

/** Opens the dialog with which a page makes something new, as `n` does. */
export function CreateButton({ children, onClick, variant = 'primary', icon = Plus }: CreateButtonProps) {
  const shortcut = useShortcut('n', children, onClick)
  return (
    <Button {...shortcut} variant={variant} icon={icon} onClick={onClick}>
      {children}
    </Button>
  )
}
