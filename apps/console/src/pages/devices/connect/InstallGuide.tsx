import { agentCommand } from '@muster/actions/client'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { usePublicUrl } from '../../../api/config.ts'
import { focusHeading } from '../../../lib/focus-heading.ts'
import { submitForm } from '../../../lib/form.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Secret } from '../../../ui/app/Secret.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Code } from '../../../ui/Code.tsx'
import { SubmitButton } from '../../../ui/SubmitButton.tsx'
import { useTokenForm } from '../../tokens/use-token-form.tsx'
import { DEFAULT_TOKEN_NAME, useEnrolment } from './use-enrolment.ts'
import { WaitingDevice } from './WaitingDevice.tsx'

type InstallGuideProps = {
  projectId: string
  /**
   * Called with `true` when a token is created and with `false` when the user continues. Between these calls the parent
   * must keep the guide on screen, even if devices connect, because the token is shown only once.
   */
  onHold: (isHeld: boolean) => void
}

/** Guide for connecting the first device, in place of an empty list. */
export function InstallGuide({ projectId, onHold }: InstallGuideProps) {
  const { enrolment, start } = useEnrolment(projectId)
  const { form, fields } = useTokenForm(DEFAULT_TOKEN_NAME, choices => {
    onHold(true)
    return start(choices).catch(error => {
      onHold(false)
      throw error
    })
  })
  const publicUrl = usePublicUrl()
  const steps = useRef<HTMLOListElement>(null)
  // The focused submit button has disappeared with the form, so the first button of the guide takes the focus.
  useEffect(() => {
    if (enrolment) steps.current?.querySelector('button')?.focus()
  }, [enrolment])
  return (
    <Section title="Connect your first device">
      <ol ref={steps} className="stack" style={{ maxWidth: 640 }}>
        <Step number={1} title="Create a deployment token">
          {enrolment ? (
            <>
              <Alert tone="warn">
                Copy this token now. It <strong>cannot be viewed later</strong>.
              </Alert>
              <Secret text={enrolment.token} what="token" />
            </>
          ) : (
            <form
              noValidate
              className="stack"
              style={{ gap: 12 }}
              onSubmit={event => void submitForm(event, form)}
            >
              {fields}
              <div>
                <SubmitButton form={form} busyLabel="Creating…">
                  Create Token
                </SubmitButton>
              </div>
            </form>
          )}
        </Step>
        <Step number={2} title="Run the agent on the device">
          {enrolment ? (
            <Code text={agentCommand(publicUrl, enrolment.token)} label="Copy command" prompt />
          ) : (
            <p className="muted">The command stands here as soon as there is a token.</p>
          )}
        </Step>
        <Step number={3} title="Wait for it to connect">
          {enrolment ? (
            <WaitingDevice projectId={projectId} before={enrolment.before}>
              <div>
                <Button
                  onClick={() => {
                    // The guide disappears with this focused button, so the focus moves to the heading first.
                    focusHeading()
                    onHold(false)
                  }}
                >
                  Show devices
                </Button>
              </div>
            </WaitingDevice>
          ) : (
            // Without the pulsing mark of `WaitingDevice`, because no device can connect before a token exists.
            <p className="muted">Waiting for the first device…</p>
          )}
        </Step>
      </ol>
    </Section>
  )
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  const headingId = useId()
  return (
    <li aria-labelledby={headingId} className="stack" style={{ gap: 8 }}>
      <h3 id={headingId}>
        {number}. {title}
      </h3>
      {children}
    </li>
  )
}
