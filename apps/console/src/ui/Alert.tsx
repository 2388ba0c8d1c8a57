import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode, Ref } from 'react'
import type { Tone } from './Badge.tsx'
import type { IconType } from './icon.ts'

const ICON: Record<Tone, IconType> = {
  neutral: Info,
  info: Info,
  ok: CircleCheck,
  warn: TriangleAlert,
  bad: CircleAlert,
}
const CLASS: Record<Tone, string> = {
  neutral: 'alert',
  info: 'alert info',
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
