import type { ReactNode } from 'react'
import type { IconType } from '../../../ui/icon.ts'

/** An option of the palette. It leads to a page (`to`) or runs something (`run`). */
export type Option = {
  /** Distinguishes options, also those with the same label. */
  key: string
  icon: IconType
  label: string
  /** Content of the label in place of its text, for example with the found part marked. */
  shown?: ReactNode
  /** Grey text after the label. On phones it is below the label. */
  hit?: ReactNode
  /** Further texts that the search matches. */
  also?: string | undefined
  end?: ReactNode
  /** Id that Ctrl C or ⌘ C copies. */
  id?: string
  /** Whether the hub found the option. It is then shown even if neither its label nor `also` contains the search text. */
  isFound?: boolean
  /** Path of the page. */
  to?: string
  search?: Record<string, string>
  /** Whether the page opens its create dialog on arrival. */
  isCreating?: boolean
  run?: () => unknown
  /** Whether the palette stays open after `run`. */
  staysOpen?: boolean
}

/** Options under a heading. `aside` is shown at the end of the heading. */
export type OptionGroup = { label: string; aside?: ReactNode; options: Option[] }

/** Maximum number of options of a group while a text is searched. */
const MAX_SEARCHED = 8

/** The groups with the options that contain the text, without empty groups. */
export function matching(groups: readonly OptionGroup[], text: string): OptionGroup[] {
  const part = text.trim().toLowerCase()
  return groups
    .map(group => ({
      ...group,
      options: part
        ? group.options.filter(option => option.isFound || isLike(option, part)).slice(0, MAX_SEARCHED + 1)
        : group.options,
    }))
    .filter(({ options }) => options.length > 0)
}

function isLike({ label, also = '' }: Option, part: string): boolean {
  return `${label}\n${also}`.toLowerCase().includes(part)
}
