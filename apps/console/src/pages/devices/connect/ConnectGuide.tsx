import { isLoopback } from '@muster/actions/client'
import { useEffect, useId, useRef, useState } from 'react'
import { usePublicUrl } from '../../../api/config.ts'
import { submitForm } from '../../../form/form.ts'
import { SubmitButton } from '../../../form/SubmitButton.tsx'
import { dateAndMinute } from '../../../lib/app/local-time.ts'
import { Secret } from '../../../ui/lazy/Secret.tsx'
import { type TokenChoices, useTokenForm } from '../../projects/shared/use-token-form.tsx'
import styles from './ConnectGuide.module.css'
import { Greeting } from './Greeting.tsx'
import { KindTabs } from './KindTabs.tsx'
import type { Kind } from './kinds.ts'
import { RunStep } from './RunStep.tsx'
import { Step } from './Step.tsx'
import { DEFAULT_TOKEN_NAME, useArrival, useEnrolment } from './use-enrolment.ts'
import { WaitingPanel } from './WaitingPanel.tsx'

type ConnectGuideProps = {
  projectId: string
  title: string
  /**
   * Called with `true` before a token is created, and with `false` if that fails. After `true` the parent must keep the guide on screen,
   * even if devices connect, because the token is shown only once.
   */
  onHold?: (isHeld: boolean) => void
  /** Leads to the list of devices. */
  onDone: () => void
}

/** Guide for connecting a device: its kind, a token, the commands, and a greeting after it has connected. */
export function ConnectGuide({ projectId, title, onHold, onDone }: ConnectGuideProps) {
  const id = useId()
  const publicUrl = usePublicUrl()
  const [chosen, setKind] = useState<Kind>()
  const kind = chosen ?? (isLoopback(publicUrl) ? 'here' : 'linux')
  const { enrolment, start, forget } = useEnrolment(projectId)
  const arrival = useArrival(projectId, enrolment)

  function create(choices: TokenChoices) {
    onHold?.(true)
    return start(choices).catch(error => {
      onHold?.(false)
      throw error
    })
  }

  return (
    <section aria-labelledby={`${id}-title`}>
      {enrolment && arrival.deviceId !== undefined ? (
        <Greeting
          key={arrival.deviceId}
          titleId={`${id}-title`}
          projectId={projectId}
          deviceId={arrival.deviceId}
          enrolment={enrolment}
          onNext={arrival.next}
          onDone={onDone}
        />
      ) : (
        <>
          <div className={styles.head}>
            <h2 id={`${id}-title`}>{title}</h2>
            <p className="secondary">
              A device runs a small agent. A deployment token tells the hub which project it belongs to.
            </p>
          </div>
          <KindTabs id={id} kind={kind} onChange={setKind} />
          <div
            className={styles.columns}
            id={`${id}-panel`}
            role="tabpanel"
            aria-labelledby={`${id}-${kind}`}
          >
            <div className="sheet bleed">
              <ol>
                {enrolment ? (
                  <CreatedToken token={enrolment.token} choices={enrolment.choices} />
                ) : (
                  <TokenForm projectId={projectId} onCreate={create} />
                )}
                <RunStep kind={kind} hasToken={enrolment !== undefined} />
              </ol>
            </div>
            <WaitingPanel projectId={projectId} kind={kind} enrolment={enrolment} onOtherToken={forget} />
          </div>
        </>
      )}
    </section>
  )
}

type TokenFormProps = { projectId: string; onCreate: (choices: TokenChoices) => Promise<void> }

function TokenForm({ projectId, onCreate }: TokenFormProps) {
  const { form, fields } = useTokenForm(projectId, DEFAULT_TOKEN_NAME, onCreate)
  return (
    <Step number={1} state="now" title="Create a deployment token">
      <form noValidate className={styles.form} onSubmit={event => void submitForm(event, form)}>
        {fields}
        <div>
          <SubmitButton form={form} busyLabel="Creating…">
            Create Token
          </SubmitButton>
        </div>
      </form>
    </Step>
  )
}

function CreatedToken({ token, choices }: { token: string; choices: TokenChoices }) {
  const box = useRef<HTMLDivElement>(null)
  // The focused submit button has disappeared with the form, so the copy button takes the focus.
  useEffect(() => box.current?.querySelector('button')?.focus(), [])
  const { name, flags, limits } = choices
  const expiresAt = limits?.expiresAt
  return (
    <Step number={1} state="done" title="Deployment token created">
      <p className="secondary">
        <bdi>{name}</bdi> · {flags?.autoAccept ? 'auto-accept' : 'each device waits for approval'}
        {expiresAt && ` · expires ${dateAndMinute(Date.parse(expiresAt))}`}
      </p>
      <div ref={box}>
        <Secret text={token} what="token" />
      </div>
      <p className={`help ${styles.once}`}>Copy it now. It cannot be viewed later.</p>
    </Step>
  )
}
