import type { ReactNode } from 'react'
import styles from './Options.module.css'

/** An option of a list below a field. */
export type Option = { key: string; content: ReactNode; choose: () => void }

type OptionsProps = {
  id: string
  label: string
  options: readonly Option[]
  /** Index of the option that the arrow keys have reached. */
  active: number | undefined
  /** Key of the option that the field holds. */
  chosenKey: string | undefined
  /** Keys of the options that the field holds, if it holds several. */
  chosenKeys?: readonly string[]
}

/** The list of a combobox. The focus stays in the field, and the field's keys move through the options. */
export function Options({ id, label, options, active, chosenKey, chosenKeys }: OptionsProps) {
  return (
    // A press on an option must not move the focus out of the field.
    <div
      id={id}
      className={styles.options}
      role="listbox"
      aria-label={label}
      tabIndex={-1}
      {...(chosenKeys && { 'aria-multiselectable': true })}
      onMouseDown={event => event.preventDefault()}
    >
      {options.map(({ key, content, choose }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
        // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field
        <div
          key={key}
          id={`${id}-${index}`}
          className="row"
          role="option"
          aria-selected={
            chosenKeys?.includes(key) || (active === undefined ? key === chosenKey : index === active)
          }
          onClick={choose}
        >
          {content}
        </div>
      ))}
    </div>
  )
}
