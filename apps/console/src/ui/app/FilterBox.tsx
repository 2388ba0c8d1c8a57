import { useEffect, useRef, useState } from 'react'
import { SearchBox } from './SearchBox.tsx'

const TYPING_PAUSE_MS = 250

type FilterBoxProps = {
  value: string
  onChange: (value: string) => void
  /** Accessible name, for example "Filter devices". */
  label: string
  placeholder: string
}

/** Text that a person types. Once it is applied, it is shown until the filter is no longer `appliedTo`, the filter before. */
type Draft = { text: string; appliedTo?: string }

/** A search box for filters in the URL. The filter takes effect when typing pauses. */
export function FilterBox({ value, onChange, ...rest }: FilterBoxProps) {
  const [draft, setDraft] = useState<Draft>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])

  if (draft?.appliedTo !== undefined && draft.appliedTo !== value) setDraft(undefined)

  function apply(text: string) {
    setDraft({ text, appliedTo: value })
    onChange(text)
  }
  function type(text: string) {
    clearTimeout(timer.current)
    // Clearing the box takes effect immediately.
    if (text === '') return apply(text)
    setDraft({ text })
    timer.current = setTimeout(() => apply(text), TYPING_PAUSE_MS)
  }
  return <SearchBox {...rest} value={draft?.text ?? value} onChange={type} />
}
