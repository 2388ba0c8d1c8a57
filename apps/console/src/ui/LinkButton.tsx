import { createLink } from '@tanstack/react-router'
import type { ComponentProps } from 'react'
import { type ButtonSize, type ButtonVariant, buttonClass } from './Button.tsx'

type AnchorProps = Omit<ComponentProps<'a'>, 'className'> & {
  variant?: ButtonVariant
  size?: ButtonSize
}

function Anchor({ variant, size, ...rest }: AnchorProps) {
  return <a {...rest} className={buttonClass(variant, size)} />
}

/** Link to a page, styled as a button. */
export const LinkButton = createLink(Anchor)
