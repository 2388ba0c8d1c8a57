import { CircleCheck, CircleX, LoaderCircle, Mail } from 'lucide-react'
import type { ReactNode } from 'react'
import type { IconType } from './icon.ts'
import styles from './Result.module.css'
import spinner from './Spinner.module.css'
import { Title } from './Title.tsx'

type ResultProps = {
  /** Picture above the title. */
  art?: ReactNode
  title: string
  children: ReactNode
  action?: ReactNode
}

/** A page with one message: picture, title, text and link. */
export function Result({ art, title, children, action }: ResultProps) {
  return (
    <div className={styles.result}>
      <Title page={title} />
      {art}
      <h1 tabIndex={-1} className={styles.title}>
        {title}
      </h1>
      <p>{children}</p>
      {action}
    </div>
  )
}

type Tone = 'neutral' | 'ok' | 'bad'

type ResultIconProps = {
  tone?: Tone
  /** Icon to show instead of the tone's default icon. */
  icon?: IconType
  /** Shows a rotating icon while work is in flight. */
  isTurning?: boolean
}

const ICON: Record<Tone, IconType> = { neutral: Mail, ok: CircleCheck, bad: CircleX }

/** The picture of a `Result`: an icon in a coloured box. */
export function ResultIcon({
  tone = 'neutral',
  isTurning = false,
  icon: Icon = isTurning ? LoaderCircle : ICON[tone],
}: ResultIconProps) {
  return (
    <div className={styles.icon} data-tone={tone === 'neutral' ? undefined : tone}>
      <Icon className={isTurning ? `icon ${spinner.turning}` : 'icon'} aria-hidden />
    </div>
  )
}
