import type { ComponentProps } from 'react'
import { type ButtonVariant, buttonClass, isSecondClick } from '../Button.tsx'
import type { IconType } from '../icon.ts'
import { Spinner } from '../Spinner.tsx'
import { useHubLost } from '../use-hub-lost.ts'

type IconButtonProps = Omit<ComponentProps<'button'>, 'className' | 'aria-label' | 'children'> & {
  /** Accessible name, also shown as a tooltip. */
  label: string
  icon: IconType
  size?: 'sm' | 'md'
  variant?: ButtonVariant
  busy?: boolean | undefined
}

/** A square button with an icon and an accessible name. */
export function IconButton({
  label,
  icon: Icon,
  size = 'md',
  variant = 'ghost',
  busy,
  type = 'button',
  onClick,
  ...rest
}: IconButtonProps) {
  const lost = useHubLost(busy !== undefined)
  return (
    <button
      {...rest}
      type={type}
      className={buttonClass(variant, size, ' square')}
      aria-label={label}
      data-tip={label}
      onClick={event => !busy && !lost && !isSecondClick(event) && onClick?.(event)}
      {...lost}
      {...(busy && { 'aria-busy': true, 'aria-disabled': true })}
    >
      {busy ? <Spinner /> : <Icon className="icon" aria-hidden />}
    </button>
  )
}
