import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react'
import type { ReactNode, Ref } from 'react'
import { ErrorText } from './ErrorText.tsx'
import type { IconType } from './icon.ts'

type Tone = 'ok' | 'warn' | 'bad'

const ICON: Record<Tone, IconType> = {
  ok: CircleCheck,
  warn: TriangleAlert,
  bad: CircleAlert,
}
const CLASS: Record<Tone, string> = {
  ok: 'alert ok',
  warn: 'alert warn',
  bad: 'alert bad',
}

type AlertProps = {
  tone: Tone
  title?: ReactNode
  icon?: IconType
  children?: ReactNode
  /** A link or button at the end. */
  action?: ReactNode
  ref?: Ref<HTMLDivElement>
}

/** A box with something to know; failures are announced at once, the rest politely. */
export function Alert({ tone, title, icon, children, action, ref }: AlertProps) {
  const Icon = icon ?? ICON[tone]
  return (
    <div ref={ref} className={CLASS[tone]} role={tone === 'bad' ? 'alert' : 'status'} tabIndex={-1}>
      <Icon className="i" aria-hidden />
      <div className="grow">
        {title && <strong>{title}</strong>}
        {title && children && <br />}
        {children}
      </div>
      {action}
    </div>
  )
}

type ErrorAlertProps = { title: string; error: unknown; action?: ReactNode }

/** A box that tells what failed and why; nothing where nothing has. */
export function ErrorAlert({ title, error, action }: ErrorAlertProps) {
  if (!error) return null
  return (
    <Alert tone="bad" title={title} action={action}>
      <ErrorText error={error} />
    </Alert>
  )
}
