import { type ComponentProps, type MouseEvent, useEffect, useState } from 'react'
import styles from './Button.module.css'
import type { IconType } from './icon.ts'
import { Spinner } from './Spinner.tsx'
import { useHubLost } from './use-hub-lost.ts'

export type ButtonVariant = 'primary' | 'secondary' | 'ghost' | 'danger'
export type ButtonSize = 'sm' | 'md' | 'lg'

const VARIANT: Record<ButtonVariant, string> = {
  primary: `button ${styles.primary}`,
  secondary: 'button',
  ghost: `button ${styles.ghost}`,
  danger: `button ${styles.danger}`,
}
const SIZE: Record<ButtonSize, string> = { sm: ` ${styles.small}`, md: '', lg: ` ${styles.large}` }

/** Class names of a button, for links that look like a button. */
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
  /**
   * Shows a spinner instead of the icon and ignores clicks while work is in flight. A button with this property sends something to the
   * hub, so it is disabled while the hub cannot be reached.
   */
  busy?: boolean | undefined
  /** Text of the button while busy, for example "Saving…". */
  busyLabel?: string
  icon?: IconType
}

/**
 * Whether a click is the second click of a double click. Such a click must be ignored: it would run the action twice, or
 * hit another element that has moved below the pointer.
 */
export function isSecondClick({ detail }: MouseEvent): boolean {
  return detail > 1
}

/** A button. A view has at most one with the variant `primary`. */
export function Button({
  variant,
  size,
  busy,
  busyLabel,
  icon: Icon,
  type = 'button',
  onClick,
  children,
  ...rest
}: ButtonProps) {
  const isShownBusy = useShownBusy(busy ?? false)
  const lost = useHubLost(busy !== undefined)
  const click = (event: MouseEvent<HTMLButtonElement>) => {
    if (busy || lost || isSecondClick(event)) event.preventDefault()
    else onClick?.(event)
  }
  return (
    <button
      {...rest}
      type={type}
      className={buttonClass(variant, size)}
      data-variant={variant}
      onClick={click}
      {...lost}
      {...(isShownBusy && { 'aria-busy': true, 'aria-disabled': true })}
    >
      {isShownBusy ? <Spinner /> : Icon && <Icon className="icon" aria-hidden />}
      {isShownBusy && busyLabel ? busyLabel : children}
    </button>
  )
}

const MIN_BUSY_MS = 300
/** Work that is shorter than this time, such as a failed form validation, is not shown as busy. */
const IGNORED_MS = 30

/** Whether to show a busy state. It lasts at least 300 ms, so that a fast answer does not flicker. */
function useShownBusy(busy: boolean): boolean {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(setShown, busy ? IGNORED_MS : MIN_BUSY_MS, busy)
    return () => clearTimeout(timer)
  }, [busy])
  return isShown
}
