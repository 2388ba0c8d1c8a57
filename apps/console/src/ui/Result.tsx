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

/** An icon as the picture of a result. */
export function ResultIcon({ icon: Icon, tone = 'neutral' }: { icon: IconType; tone?: 'neutral' | 'bad' }) {
  return (
    <div className={tone === 'bad' ? 'ico bad' : 'ico'}>
      <Icon className="i" aria-hidden />
    </div>
  )
}
