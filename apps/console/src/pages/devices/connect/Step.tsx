import { Check } from 'lucide-react'
import { type ReactNode, useId } from 'react'

type StepProps = {
  number: number
  state: 'now' | 'later' | 'done'
  title: string
  children: ReactNode
}

/** A numbered step of the guide. */
export function Step({ number, state, title, children }: StepProps) {
  const headingId = useId()
  return (
    <li aria-labelledby={headingId} className={`fs ${state}`}>
      <span className="fn" aria-hidden="true">
        {state === 'done' ? <Check className="i i-14" /> : number}
      </span>
      <div className="fb">
        <h3 id={headingId}>
          <span className="sr">Step {number}: </span>
          {title}
        </h3>
        {children}
      </div>
    </li>
  )
}
