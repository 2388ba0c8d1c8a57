import { ChevronDown } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useRef, useState } from 'react'
import { useShortcut } from '../../lib/app/shortcuts.ts'
import { loadCode } from '../../lib/load-code.ts'
import styles from './Pick.module.css'

const Popover = lazy(async () => ({
  default: (await loadCode(() => import('../../ui/lazy/Popover.tsx'))).Popover,
}))

type PickProps = {
  /** Name of the filter, for example "Actor". */
  label: string
  /** Label of the chosen option, for example "Anyone". */
  value: string
  /** Whether the filter is set. */
  isOn: boolean
  /** CSS class of the popover. */
  className: string
  /** Key that opens the popover. */
  keys?: string
  children: (close: () => void) => ReactNode
}

/** A button of a filter that opens a popover. */
export function Pick({ label, value, isOn, className, keys, children }: PickProps) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => setOpen(false)
  return (
    <span className={styles.place}>
      <button
        ref={button}
        type="button"
        className={styles.pick}
        data-on={isOn}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span>{label}</span>
        <b>
          <bdi>{value}</bdi>
        </b>
        <ChevronDown className="icon small-icon" aria-hidden />
      </button>
      {keys && <OpenKey keys={keys} label={label} onPress={() => setOpen(true)} />}
      <Suspense>
        {isOpen && (
          <Popover
            label={label}
            className={`${styles.panel} ${className}`}
            opener={() => button.current}
            onClose={close}
          >
            {children(close)}
          </Popover>
        )}
      </Suspense>
    </span>
  )
}

function OpenKey({ keys, label, onPress }: { keys: string; label: string; onPress: () => void }) {
  useShortcut(keys, `Filter by ${label.toLowerCase()}`, onPress)
  return null
}
