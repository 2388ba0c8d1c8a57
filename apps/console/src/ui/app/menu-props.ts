import type { ComponentProps, ReactNode } from 'react'
import type { IconType } from '../icon.ts'

/** An action in a menu. */
export type MenuItemProps = { icon?: IconType; onSelect: () => void; children: ReactNode }

/** A link in a menu. */
export type MenuAnchorProps = Omit<ComponentProps<'a'>, 'className'> & {
  icon?: IconType
  checked?: boolean
  /** Number of open items on the linked page, for example invitations. It is not part of the accessible name. */
  count?: number | undefined
}

/** A radio group in a menu. */
export type MenuChoiceProps<T extends string> = {
  label: string
  value: T
  options: readonly { value: T; label: string; icon?: IconType }[]
  onChange: (value: T) => void
}
