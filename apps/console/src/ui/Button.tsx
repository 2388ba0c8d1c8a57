import type { ComponentProps, MouseEvent } from 'react'
import type { IconType } from './icon.ts'
import { Spinner } from './Spinner.tsx'
import { useHeldBusy } from './use-held-busy.ts'

export type ButtonVariant = 'primary' | 'secondary' | 'ghost' | 'danger'
export type ButtonSize = 'sm' | 'md' | 'lg'

const VARIANT: Record<ButtonVariant, string> = {
  primary: 'btn primary',
  secondary: 'btn',
  ghost: 'btn ghost',
  danger: 'btn danger',
}
const SIZE: Record<ButtonSize, string> = { sm: ' sm', md: '', lg: ' lg' }

/** Class names of a button, for things that look like one. */
export function buttonClass(
  variant: ButtonVariant = 'secondary',
  size: ButtonSize = 'md',
  extra = '',
): string {
  return VARIANT[variant] + SIZE[size] + extra
}

export type ButtonProps = Omit<ComponentProps<'button'>, 'className'> & {
  variant?: ButtonVariant
  size?: ButtonSize
  /** Work is under way: a spinner replaces the icon and clicks are ignored. */
  busy?: boolean | undefined
  /** What the button says while busy, for example "Saving…". */
  busyLabel?: string
  icon?: IconType
}

/** Whether it ends a double click: nothing is meant to happen twice, or to what has moved below the pointer meanwhile. */
export function isSecondClick({ detail }: MouseEvent): boolean {
  return detail > 1
}

/** A button; at most one primary stands in a view. */
export function Button({
  variant,
  size,
  busy = false,
  busyLabel,
  icon: Icon,
  type = 'button',
  onClick,
  children,
  ...rest
}: ButtonProps) {
  const isShownBusy = useHeldBusy(busy)
  const click = (event: MouseEvent<HTMLButtonElement>) => {
    if (busy || isSecondClick(event)) event.preventDefault()
    else onClick?.(event)
  }
  return (
    <button
      {...rest}
      type={type}
      className={buttonClass(variant, size)}
      onClick={click}
      {...(isShownBusy && { 'aria-busy': true, 'aria-disabled': true })}
    >
      {isShownBusy ? <Spinner /> : Icon && <Icon className="i" aria-hidden />}
      {isShownBusy && busyLabel ? busyLabel : children}
    </button>
  )
}
