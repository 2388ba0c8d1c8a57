import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react'
import type { ReactNode, Ref } from 'react'
import styles from './Alert.module.css'
import { ErrorText } from './ErrorText.tsx'
import type { IconType } from './icon.ts'

type Tone = 'ok' | 'warn' | 'bad'

const ICON: Record<Tone, IconType> = {
  ok: CircleCheck,
  warn: TriangleAlert,
  bad: CircleAlert,
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

/** A message box. Failures are announced to screen readers immediately (`alert`), other messages politely (`status`). */
export function Alert({ tone, title, icon, children, action, ref }: AlertProps) {
  const Icon = icon ?? ICON[tone]
  return (
    <div
      ref={ref}
      className={`alert ${styles.alert}`}
      data-tone={tone}
      role={tone === 'bad' ? 'alert' : 'status'}
      tabIndex={-1}
    >
      <Icon className="icon" aria-hidden />
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

/** A message box with a title and the text of an error. Renders nothing without an error. */
export function ErrorAlert({ title, error, action }: ErrorAlertProps) {
  if (!error) return null
  return (
    <Alert tone="bad" title={title} action={action}>
      <ErrorText error={error} />
    </Alert>
  )
}
