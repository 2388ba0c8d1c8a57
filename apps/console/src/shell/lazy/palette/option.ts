import type { ReactNode } from 'react'
import type { IconType } from '../../../ui/icon.ts'

/** An option of the search dialog (palette). It leads to a page (`to`) or calls a function (`run`). */
export type Option = {
  /** Distinguishes options, also those with the same label. */
  key: string
  icon: IconType
  label: string
  /** Shown instead of `label`, for example the label with the part that matches the search text marked. */
  shown?: ReactNode
  /** Grey text after the label, for example the address that matches the search text. On phones it is below the label. */
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

/** Limit of options of a group during a search, not counting the last option "All devices with …" of the group "Devices". */
const MAX_SEARCHED = 8

/** The groups with the options that contain the text, or with all options if the text is empty. Groups without an option are omitted. */
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
