import { Check, CircleAlert, X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { ErrorText } from './ErrorText.tsx'
import { dismissToast, type ToastNotice, useToasts } from './toast.ts'

const SUCCESS_SHOWN_MS = 5000

/** Shows the notices of `toast` in the corner: success for 5 s, failures until dismissed, three at most. */
export function Toaster() {
  const notices = useToasts()
  return (
    <section className="toasts" aria-label="Notifications">
      {notices.map(notice => (
        <Toast key={notice.key} notice={notice} />
      ))}
    </section>
  )
}

function Toast({ notice }: { notice: ToastNotice }) {
  const { key, text, error } = notice
  const isFailure = 'error' in notice
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (isFailure || isHeld) return
    const timer = setTimeout(dismissToast, SUCCESS_SHOWN_MS, key)
    return () => clearTimeout(timer)
  }, [key, isFailure, isHeld])

  const Icon = isFailure ? CircleAlert : Check
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: resting on it keeps it; there is nothing to press
    <div
      className={isFailure ? 'toast bad' : 'toast'}
      role={isFailure ? 'alert' : 'status'}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <Icon className="i" aria-hidden />
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
      <button type="button" className="copy" aria-label="Dismiss" onClick={() => dismissToast(key)}>
        <X className="i i-14" aria-hidden />
      </button>
    </div>
  )
}
