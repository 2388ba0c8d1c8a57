import type { ReactNode } from 'react'
import type { IconType } from './icon.ts'
import { Title } from './Title.tsx'

type ResultProps = {
  /** Picture above the title. */
  art?: ReactNode
  title: string
  children: ReactNode
  action?: ReactNode
}

/** A page that says one thing: a picture, a title, a text, a link. */
export function Result({ art, title, children, action }: ResultProps) {
  return (
    <div className="result">
      <Title page={title} />
      {art}
      <h1 tabIndex={-1}>{title}</h1>
      <p>{children}</p>
      {action}
    </div>
  )
}

type ResultIconProps = {
  icon: IconType
  tone?: 'neutral' | 'ok' | 'bad'
  /** Something is under way. */
  isTurning?: boolean
}

const TONE = { neutral: 'ico', ok: 'ico ok', bad: 'ico bad' } as const

/** An icon as the picture of a result. */
export function ResultIcon({ icon: Icon, tone = 'neutral', isTurning = false }: ResultIconProps) {
  return (
    <div className={TONE[tone]}>
      <Icon className={isTurning ? 'i turning' : 'i'} aria-hidden />
    </div>
  )
}
