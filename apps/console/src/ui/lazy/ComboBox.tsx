import { Autocomplete } from '@base-ui/react/autocomplete'
import { ChevronDown } from 'lucide-react'
import { type ComponentProps, useRef, useState } from 'react'
import styles from './ComboBox.module.css'
import { TOP_LAYER } from './top-layer.ts'

const GAP = 4
const EDGE = 8

/** An option of a combobox. */
export type ComboOption = {
  value: string
  label: string
  /** Distinguishes options of the same name, for example an id. */
  detail?: string
  /** Reason why the option cannot be chosen. */
  reason?: string | undefined
}

type ComboBoxProps = Omit<
  ComponentProps<typeof Autocomplete.Input>,
  'value' | 'className' | 'onChange' | 'onKeyDown'
> & {
  /** Accessible name of the list. */
  label: string
  /** Text in the box: the label of the chosen option, or the search text. */
  text: string
  onType: (text: string) => void
  /** Options that match the text. */
  options: readonly ComboOption[]
  /** Shown below the options, or instead of them when there are none. */
  note?: string | undefined
  onChoose: (option: ComboOption) => void
  /** Returns the option that Enter chooses if no option is selected with the arrow keys. */
  onEnter: (isOpen: boolean) => ComboOption | undefined
  /** Called by Escape while the list is closed. */
  onEscape?: () => void
  /** The box is a filter: shows names that machines read, and no arrow. */
  isFilter?: boolean
  /** Whether the options show as soon as the box has the focus. */
  opensOnFocus?: boolean
}

/** Selects an option by a part of its name. Arrow keys move, Enter selects, Escape closes. */
export function ComboBox({
  label,
  text,
  onType,
  options,
  note,
  onChoose,
  onEnter,
  onEscape,
  isFilter = false,
  opensOnFocus = false,
  ...input
}: ComboBoxProps) {
  const box = useRef<HTMLDivElement>(null)
  const highlighted = useRef<ComboOption>(undefined)
  const [isAsked, setOpen] = useState(false)
  const isOpen = isAsked && (options.length > 0 || Boolean(note))
  function choose(option: ComboOption | undefined) {
    if (!option) return
    setOpen(false)
    onChoose(option)
  }
  return (
    <Autocomplete.Root<ComboOption>
      items={options}
      filter={null}
      value={text}
      itemToStringValue={option => option.label}
      // Ignores the change of text when an option is chosen, because the caller then sets `text` in `onChoose`.
      onValueChange={(typed, { reason }) => reason === 'input-change' && onType(typed)}
      openOnInputClick
      open={isOpen}
      onOpenChange={setOpen}
      onItemHighlighted={option => {
        highlighted.current = option
      }}
    >
      <div ref={box} className={isFilter ? styles.filter : styles.box}>
        <Autocomplete.Input
          {...input}
          className={isFilter ? 'input mono' : 'input'}
          autoComplete="off"
          spellCheck={false}
          onFocus={() => opensOnFocus && setOpen(true)}
          // The library closes only a list that was shown when the focus left.
          onBlur={({ relatedTarget }) => {
            if (relatedTarget && !box.current?.contains(relatedTarget)) setOpen(false)
          }}
          onKeyDown={event => {
            if (event.key === 'Escape' && !isOpen) onEscape?.()
            if (event.key !== 'Enter' || highlighted.current) return
            if (isOpen) {
              event.preventBaseUIHandler()
              event.preventDefault()
            }
            choose(onEnter(isOpen))
          }}
        />
        {!isFilter && <ChevronDown className="icon" aria-hidden />}
        {isOpen && (
          <Autocomplete.Portal container={box}>
            <Autocomplete.Positioner {...TOP_LAYER} anchor={box} sideOffset={GAP} collisionPadding={EDGE}>
              {/* The library's `Popup` would hide all other elements of the page from assistive technology while the list is open. */}
              <div className={styles.options}>
                <Autocomplete.List aria-label={label}>
                  {options.map(option => (
                    <Autocomplete.Item
                      key={option.value}
                      value={option}
                      disabled={option.reason !== undefined}
                      onClick={() => !option.reason && choose(option)}
                    >
                      <span className={isFilter ? 'truncated mono' : 'truncated'}>{option.label}</span>
                      {option.detail && <span className="truncated mono muted">{option.detail}</span>}
                      {option.reason && <span className="muted">{option.reason}</span>}
                    </Autocomplete.Item>
                  ))}
                </Autocomplete.List>
                {note && <p className="muted">{note}</p>}
              </div>
            </Autocomplete.Positioner>
          </Autocomplete.Portal>
        )}
      </div>
    </Autocomplete.Root>
  )
}
