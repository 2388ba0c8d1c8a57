import { MAX_FILTER_LENGTH } from '@muster/actions/client'
import { Search } from 'lucide-react'
import { useRef } from 'react'
import { useShortcut } from '../../lib/app/shortcuts.ts'
import styles from './SearchBox.module.css'

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
  const shortcut = useShortcut('/', label, () => ref.current?.focus())
  return (
    <div className={`searchbox ${styles.box}`}>
      <Search className="icon" aria-hidden />
      <input
        {...shortcut}
        ref={ref}
        className="input"
        type="search"
        value={value}
        placeholder={placeholder}
        aria-label={label}
        maxLength={MAX_FILTER_LENGTH}
        autoComplete="off"
        onChange={event => onChange(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Escape' && value) onChange('')
        }}
      />
      {!value && shortcut && (
        // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it contains nothing focusable
        <kbd aria-hidden="true">/</kbd>
      )}
    </div>
  )
}
