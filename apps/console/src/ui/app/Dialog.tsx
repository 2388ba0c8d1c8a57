import { X } from 'lucide-react'
import { type MouseEvent, type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { keepFocus } from '../../lib/focus-heading.ts'
import styles from './Dialog.module.css'
import { IconButton } from './IconButton.tsx'
import raised from './raised.module.css'

/** How the user asked to close a dialog: with Escape, by a click on the backdrop, or with a button. */
export type CloseReason = 'escape' | 'scrim' | 'button'

type DialogProps = {
  title: string
  /** Class for a width of its own. */
  className?: string | undefined
  /** Called when the user asks to close the dialog. The parent then unmounts it, or ignores the request. */
  onClose: (reason: CloseReason) => void
  /** Prevents closing the dialog while work is in flight. */
  busy?: boolean | undefined
  /** Set after input. Only a button can then close the dialog, not Escape or a click on the backdrop. */
  dirty?: boolean
  children: ReactNode
}

/** A modal dialog, open while it is mounted. On phones it appears at the bottom of the screen. */
export function Dialog({ title, className, onClose, busy = false, dirty = false, children }: DialogProps) {
  const titleId = useId()
  function ask(reason: CloseReason) {
    if (busy || (dirty && reason !== 'button')) return
    onClose(reason)
  }
  return (
    <Modal className={className} labelledBy={titleId} busy={busy} onAsk={ask}>
      <header>
        <h2 id={titleId}>{title}</h2>
        <IconButton label="Close" icon={X} size="sm" disabled={busy} onClick={() => ask('button')} />
      </header>
      {children}
    </Modal>
  )
}

type ModalProps = {
  className?: string | undefined
  label?: string
  labelledBy?: string
  busy?: boolean
  /** Called when the user asks to close the dialog. */
  onAsk: (reason: CloseReason) => void
  children: ReactNode
}

/** A modal dialog, open while it is mounted. Takes the focus, and returns it to the opener when it is unmounted. */
export function Modal({ className = '', label, labelledBy, busy = false, onAsk, children }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const pressedScrim = useRef(false)

  // This is a layout effect, so that its cleanup runs while the node is still in the document.
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    const first = dialog?.querySelector<HTMLElement>(
      '[autofocus], [data-body] :is(input, select, textarea, button)',
    )
    first?.focus()
    return () => {
      // `close` makes the browser return the focus to the opener.
      dialog?.close()
      setTimeout(keepFocus)
    }
  }, [])

  const isScrim = (event: MouseEvent) => event.target === ref.current
  return (
    <dialog
      ref={ref}
      className={`${styles.dialog} ${raised.raised} ${className}`}
      aria-label={label}
      aria-labelledby={labelledBy}
      aria-busy={busy}
      onCancel={event => {
        event.preventDefault()
        onAsk('escape')
      }}
      onKeyDown={event => {
        if (event.key !== 'Escape') return
        // Preventing `cancel` is not enough: at a second Escape browsers close a dialog without a `cancel` event.
        event.preventDefault()
        onAsk('escape')
      }}
      onMouseDown={event => {
        pressedScrim.current = isScrim(event)
      }}
      onClick={event => {
        if (pressedScrim.current && isScrim(event)) onAsk('scrim')
      }}
    >
      {children}
    </dialog>
  )
}

/** The body of a dialog. */
export function DialogBody({ children }: { children: ReactNode }) {
  return (
    <div className={styles.body} data-body>
      {children}
    </div>
  )
}

/** The buttons of a dialog, with the main button last. */
export function DialogFoot({ children }: { children: ReactNode }) {
  return <footer className={`row ${styles.foot}`}>{children}</footer>
}
