import { type ReactNode, useState } from 'react'
import { confirmed } from '../../lib/app/confirm.ts'
import { Section } from '../app/Section.tsx'
import { toastError } from '../app/toast.ts'
import { Button } from '../Button.tsx'
import type { IconType } from '../icon.ts'
import styles from './DangerZone.module.css'

/** The last panel of a page, with destructive actions. */
export function DangerZone({ id, children }: { id?: string; children: ReactNode }) {
  return (
    <Section {...(id && { id })} className={styles.zone} title="Danger Zone" padded={false}>
      {children}
    </Section>
  )
}

type DangerLineProps = {
  name: string
  consequence: ReactNode
  icon: IconType
  /** Text of the button, if it differs from `name`. */
  button?: string
  busyLabel: string
  /** Text of the confirmation prompt. Without it the action runs immediately. */
  question?: string
  act: () => Promise<unknown>
  /** Title of the error message, for example "Could not delete the project". */
  failure: string
}

/** A destructive action with its name, its consequence and a button. */
export function DangerLine(props: DangerLineProps) {
  const { name, consequence, icon, button = name, busyLabel, question, act, failure } = props
  const [isBusy, setBusy] = useState(false)

  async function confirmAndAct() {
    try {
      if (question) await confirmed(question)
      setBusy(true)
      await act()
    } catch (error) {
      toastError(failure, error)
    } finally {
      setBusy(false)
    }
  }

  return (
    <div className={`row ${styles.line}`}>
      <div className="grow">
        <h3>{name}</h3>
        <p>{consequence}</p>
      </div>
      <Button
        variant="danger"
        icon={icon}
        busy={isBusy}
        busyLabel={busyLabel}
        onClick={() => void confirmAndAct()}
      >
        {button}
      </Button>
    </div>
  )
}
