import { type ReactNode, useEffect, useId, useRef } from 'react'
import { usePublicUrl } from '../../api/config.ts'
import { agentCommand } from '../../lib/agent-command.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { Code } from '../../ui/Code.tsx'
import { Secret } from '../../ui/Secret.tsx'
import { Section } from '../../ui/Section.tsx'
import { TokenForm } from './TokenForm.tsx'
import { useEnrolment } from './use-enrolment.ts'
import { WaitingDevice } from './WaitingDevice.tsx'

/** What an empty list shows: how the first device gets into it. */
export function InstallGuide({ projectId }: { projectId: string }) {
  const { enrolment, start } = useEnrolment(projectId)
  const publicUrl = usePublicUrl()
  const steps = useRef<HTMLOListElement>(null)
  // The button that had the focus is gone with the form.
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
            <TokenForm start={start}>
              {(field, { canSubmit, isSubmitting }) => (
                <div className="stack" style={{ gap: 12 }}>
                  {field}
                  <div>
                    <Button
                      type="submit"
                      variant="primary"
                      disabled={!canSubmit && !isSubmitting}
                      busy={isSubmitting}
                      busyLabel="Creating…"
                    >
                      Create Token
                    </Button>
                  </div>
                </div>
              )}
            </TokenForm>
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
            <WaitingDevice projectId={projectId} before={enrolment.before} />
          ) : (
            <p className="live" role="status">
              <i aria-hidden="true" />
              Waiting for the first device…
            </p>
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
