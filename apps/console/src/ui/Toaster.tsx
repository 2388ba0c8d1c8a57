import { Check, CircleAlert, X } from 'lucide-react'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { LoginLink } from './ErrorText.tsx'
import { dismissToast, type ToastNotice, toastStore } from './toast.ts'

const SUCCESS_SHOWN_MS = 5000

/** Shows the notices of `toast` in the corner: success for 5 s, failures until dismissed, three at most. */
export function Toaster() {
  const notices = useSyncExternalStore(toastStore.subscribe, toastStore.get)
  return (
    <section className="toasts" aria-label="Notifications">
      {notices.map(notice => (
        <Toast key={notice.key} notice={notice} />
      ))}
    </section>
  )
}

function Toast({ notice }: { notice: ToastNotice }) {
  const { key, tone, title, text, isSignedOut } = notice
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (tone === 'bad' || isHeld) return
    const timer = setTimeout(dismissToast, SUCCESS_SHOWN_MS, key)
    return () => clearTimeout(timer)
  }, [key, tone, isHeld])

  const Icon = tone === 'bad' ? CircleAlert : Check
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: resting on it keeps it; there is nothing to press
    <div
      className={tone === 'bad' ? 'toast bad' : 'toast'}
      role={tone === 'bad' ? 'alert' : 'status'}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <Icon className="i" aria-hidden />
      <div className="grow">
        {title && (
          <>
            <strong>{title}</strong>
            <br />
          </>
        )}
        {text}
        {isSignedOut && <LoginLink />}
      </div>
      <button type="button" className="copy" aria-label="Dismiss" onClick={() => dismissToast(key)}>
        <X className="i i-14" aria-hidden />
      </button>
    </div>
  )
}
