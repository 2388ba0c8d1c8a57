import { Check } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import styles from './Step.module.css'

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
    <li aria-labelledby={headingId} className={styles.step} data-state={state}>
      <span className={styles.number} aria-hidden="true">
        {state === 'done' ? <Check className="icon small-icon" /> : number}
      </span>
      <div className={styles.content}>
        <h3 id={headingId}>
          <span className="visually-hidden">Step {number}: </span>
          {title}
        </h3>
        {children}
      </div>
    </li>
  )
}
