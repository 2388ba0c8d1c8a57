import { MAX_KIND_LENGTH } from '@muster/actions/client'
import { useState } from 'react'
import { ComboBox, type ComboOption } from './ComboBox.tsx'

type SuggestBoxProps = {
  value: string
  /** Suggestions. Any other text is accepted too. */
  options: readonly string[]
  onChange: (value: string) => void
  /** Accessible name, for example "Filter by type". */
  label: string
  placeholder: string
}

/**
 * A filter by an exact name, with suggestions. It takes effect when a suggestion is chosen, at Enter, or when the input
 * loses the focus.
 */
export function SuggestBox({ value, options, onChange, label, placeholder }: SuggestBoxProps) {
  const [draft, setDraft] = useState<string>()
  const part = (draft ?? '').trim().toLowerCase()
  const found = options.filter(option => option.toLowerCase().includes(part))

  function apply(text: string) {
    setDraft(undefined)
    if (text.trim() !== value) onChange(text.trim())
  }
  function type(text: string) {
    if (text === '' || options.includes(text)) apply(text)
    else setDraft(text)
  }
  return (
    <ComboBox
      isFilter
      type="search"
      label={label}
      aria-label={label}
      placeholder={placeholder}
      maxLength={MAX_KIND_LENGTH}
      text={draft ?? value}
      onType={type}
      options={found.map(optionOf)}
      onChoose={option => apply(option.value)}
      onEnter={() => (draft === undefined ? undefined : optionOf(draft))}
      onEscape={() => apply('')}
      onBlur={() => draft !== undefined && apply(draft)}
    />
  )
}

function optionOf(name: string): ComboOption {
  return { value: name, label: name }
}
