import { Check, CircleAlert, X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from '../Button.tsx'
import { ErrorText } from '../ErrorText.tsx'
import raised from './raised.module.css'
import styles from './Toaster.module.css'
import { dismissToast, type ToastNotice, useToasts } from './toast.ts'

const SUCCESS_SHOWN_MS = 5000
/** Time for which a notice with the button Undo is shown, in milliseconds. */
const UNDO_SHOWN_MS = 10_000

/**
 * Shows the notices of `toast` in a corner of the page, at most three: success for 5 s (10 s with Undo), failures until the user dismisses
 * them. The pointer or the focus on a notice keeps it on screen.
 */
export function Toaster() {
  const notices = useToasts()
  return (
    <section className={styles.toasts} aria-label="Notifications">
      {notices.map(notice => (
        <Toast key={notice.key} notice={notice} />
      ))}
    </section>
  )
}

function Toast({ notice }: { notice: ToastNotice }) {
  const { key, text, error, undo } = notice
  const isFailure = 'error' in notice
  const [isPaused, setPaused] = useState(false)
  useEffect(() => {
    if (isFailure || isPaused) return
    const timer = setTimeout(dismissToast, undo ? UNDO_SHOWN_MS : SUCCESS_SHOWN_MS, key)
    return () => clearTimeout(timer)
  }, [key, isFailure, isPaused, undo])

  const Icon = isFailure ? CircleAlert : Check
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hover and focus only pause the timer; there is nothing to click
    <div
      className={`${styles.toast} ${raised.raised}`}
      data-tone={isFailure ? 'bad' : 'ok'}
      role={isFailure ? 'alert' : 'status'}
      onPointerEnter={() => setPaused(true)}
      onPointerLeave={() => setPaused(false)}
      onFocus={() => setPaused(true)}
      onBlur={() => setPaused(false)}
    >
      <Icon className="icon" aria-hidden />
      <div className="grow">
        {isFailure ? (
          <>
            <strong>{text}</strong>
            <br />
            <ErrorText error={error} />
          </>
        ) : (
          text
        )}
      </div>
      {undo && (
        <Button
          size="sm"
          onClick={() => {
            dismissToast(key)
            undo()
          }}
        >
          Undo
        </Button>
      )}
      <button type="button" className="copy" aria-label="Dismiss" onClick={() => dismissToast(key)}>
        <X className="icon small-icon" aria-hidden />
      </button>
    </div>
  )
}
