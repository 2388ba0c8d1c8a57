import { MAX_FILTER_LENGTH } from '@muster/actions/client'
import { Search } from 'lucide-react'
import { useEffect, useRef } from 'react'

type SearchBoxProps = {
  value: string
  onChange: (value: string) => void
  /** Accessible name, for example "Filter devices". */
  label: string
  placeholder: string
}

/** A filter above a list: `/` focuses it, Escape clears it. */
export function SearchBox({ value, onChange, label, placeholder }: SearchBoxProps) {
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => {
    function focusOnSlash(event: KeyboardEvent) {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return
      if (document.querySelector('dialog[open]')) return
      event.preventDefault()
      ref.current?.focus()
    }
    document.addEventListener('keydown', focusOnSlash)
    return () => document.removeEventListener('keydown', focusOnSlash)
  }, [])
  return (
    <div className="searchbox">
      <Search className="i" aria-hidden />
      <input
        ref={ref}
        className="input"
        type="search"
        value={value}
        placeholder={placeholder}
        aria-label={label}
        aria-keyshortcuts="/"
        maxLength={MAX_FILTER_LENGTH}
        autoComplete="off"
        onChange={event => onChange(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Escape' && value) onChange('')
        }}
      />
      {!value && (
        <span className="kbd" aria-hidden="true">
          /
        </span>
      )}
    </div>
  )
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}
