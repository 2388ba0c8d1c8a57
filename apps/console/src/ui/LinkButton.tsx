import { createLink } from '@tanstack/react-router'
import type { ComponentProps } from 'react'
import { type ButtonSize, type ButtonVariant, buttonClass } from './Button.tsx'
import type { IconType } from './icon.ts'

type AnchorProps = Omit<ComponentProps<'a'>, 'className'> & {
  variant?: ButtonVariant
  size?: ButtonSize
  icon?: IconType
}

function Anchor({ variant, size, icon: Icon, children, ...rest }: AnchorProps) {
  return (
    <a {...rest} className={buttonClass(variant, size)}>
      {Icon && <Icon className="i" aria-hidden />}
      {children}
    </a>
  )
}

/** A link to a page that looks like a button. */
export const LinkButton = createLink(Anchor)
