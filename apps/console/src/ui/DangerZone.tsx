import { type ReactNode, useId, useState } from 'react'
import { confirmed } from '../lib/confirm.ts'
import { Button } from './Button.tsx'
import type { IconType } from './icon.ts'
import { toastError } from './toast.ts'

/** The last sheet of a page: what cannot be undone. */
export function DangerZone({ id, children }: { id?: string; children: ReactNode }) {
  const headingId = useId()
  return (
    <section className="sheet sec dz" id={id} aria-labelledby={headingId}>
      <header>
        <h2 id={headingId}>Danger Zone</h2>
      </header>
      {children}
    </section>
  )
}

type DangerLineProps = {
  name: string
  consequence: ReactNode
  icon: IconType
  /** Text of the button, where it is not the name. */
  button?: string
  busyLabel: string
  /** Asked before anything is done; without it nothing is asked. */
  question?: string
  act: () => Promise<unknown>
  /** Heads the message when it fails, for example "Could not delete the project". */
  failure: string
}

/** One destructive action: its name, what follows from it, its button. */
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
    <div className="line">
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
