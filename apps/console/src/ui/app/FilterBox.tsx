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

/** A search box for filters in the URL. The filter takes effect when typing pauses. */
export function FilterBox({ value, onChange, ...rest }: FilterBoxProps) {
  const [draft, setDraft] = useState<string>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])

  function apply(text: string) {
    setDraft(undefined)
    onChange(text)
  }
  function type(text: string) {
    clearTimeout(timer.current)
    // Clearing the box takes effect immediately.
    if (text === '') return apply(text)
    setDraft(text)
    timer.current = setTimeout(() => apply(text), TYPING_PAUSE_MS)
  }
  return <SearchBox {...rest} value={draft ?? value} onChange={type} />
}
