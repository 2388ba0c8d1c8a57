import type { ComponentProps } from 'react'
import { buttonClass, isSecondClick } from '../Button.tsx'
import type { IconType } from '../icon.ts'
import { Spinner } from '../Spinner.tsx'

type IconButtonProps = Omit<ComponentProps<'button'>, 'className' | 'aria-label' | 'children'> & {
  /** Accessible name, also shown as a tooltip. */
  label: string
  icon: IconType
  size?: 'sm' | 'md'
  busy?: boolean | undefined
}

/** A square button with an icon and an accessible name. */
export function IconButton({
  label,
  icon: Icon,
  size = 'md',
  busy = false,
  type = 'button',
  onClick,
  ...rest
}: IconButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={buttonClass('ghost', size, ' icon')}
      aria-label={label}
      data-tip={label}
      onClick={event => !busy && !isSecondClick(event) && onClick?.(event)}
      {...(busy && { 'aria-busy': true, 'aria-disabled': true })}
    >
      {busy ? <Spinner /> : <Icon className="i" aria-hidden />}
    </button>
  )
}
