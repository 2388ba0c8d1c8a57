import { ArrowRight, Ban, OctagonAlert, Pause } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useActionState, useCommand } from '../../api/queries.ts'
import { useNow } from '../../lib/app/clock.ts'
import { confirmed } from '../../lib/app/confirm.ts'
import { counted, formatCount } from '../../lib/app/format.ts'
import { atInWords, sinceInWords } from '../../lib/app/local-time.ts'
import { toast, toastError } from '../../ui/app/toast.ts'
import { ProjectSettingsLink } from './ProjectSettingsLink.tsx'
import { ResendDialog } from './ResendDialog.tsx'
import { useSetOn } from './use-set-on.ts'
import styles from './WebhookPage.module.css'
import { answerWords, isExport, nounOf, type WebhookDetails, waitText } from './webhook.ts'

type WebhookProblemProps = {
  webhook: WebhookDetails
  /** Sends a test message, whose answer the page shows. */
  onTest: () => void
  onChange: () => void
}

/** Box with the reason why a webhook does not deliver, and the next steps. Renders nothing while it delivers. */
export function WebhookProblem({ webhook, onTest, onChange }: WebhookProblemProps) {
  const { state, failingSince } = webhook
  if (state === 'Held') return <Held webhook={webhook} />
  if (state === 'Off') return <Off webhook={webhook} onTest={onTest} onChange={onChange} />
  // The beginning of the failures is also known of a state that this console does not know.
  if (failingSince === undefined) return null
  return <Failing webhook={webhook} onTest={onTest} onChange={onChange} />
}

/** A next step: a button, or for an export the link to the settings of its project. */
type Step = { label: string; why: string } & ({ run: () => void } | { link: ReactNode })

type BoxProps = {
  tone?: 'bad' | 'warn'
  icon: typeof Ban
  title: string
  steps: readonly Step[]
  children: ReactNode
}

function Box({ tone, icon: Icon, title, steps, children }: BoxProps) {
  return (
    <section className={`sheet bleed ${styles.problem}`} data-tone={tone} aria-labelledby="problem">
      <div className={styles.main}>
        <Icon className="icon" aria-hidden />
        <div className="grow">
          <h2 id="problem">{title}</h2>
          <p>{children}</p>
        </div>
      </div>
      <ul className={styles.steps} aria-label="Next steps">
        {steps.map(step => (
          <li key={step.label}>
            {'link' in step ? (
              step.link
            ) : (
              <button type="button" onClick={step.run}>
                {step.label}
                <ArrowRight className="icon small-icon" aria-hidden />
              </button>
            )}
            <p className="help">{step.why}</p>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Steps that ask the receiver or change it. */
function receiverSteps({ webhook, onTest, onChange }: WebhookProblemProps): {
  tests: Step[]
  changes: Step[]
} {
  const { projectId } = webhook
  if (isExport(webhook))
    return {
      tests: [],
      changes: projectId
        ? [
            {
              label: 'Change in the settings of the project',
              why: 'They have the address of the collector and the headers.',
              link: <ProjectSettingsLink projectId={projectId} />,
            },
          ]
        : [],
    }
  return {
    tests: [
      { label: 'Send a test now', why: 'The answer is shown here. Nothing else is sent.', run: onTest },
    ],
    changes: [
      { label: 'Change the address…', why: 'The former address gets webhook.deleted once.', run: onChange },
    ],
  }
}

function Failing(props: WebhookProblemProps) {
  const { webhook } = props
  const { tests, changes } = receiverSteps(props)
  const { webhookId, failingSince, turnsOffAt, nextAttemptAt } = webhook
  const nowMs = useNow()
  const [isResending, setResending] = useState(false)
  const last = useActionState('webhooks_QueryAttempts', {
    webhookId,
    limit: 1,
    filter: { isSuccess: false },
  }).data?.attempts[0]
  const since = failingSince && sinceInWords(Date.parse(failingSince), nowMs)
  return (
    <>
      <Box
        tone="bad"
        icon={OctagonAlert}
        title={`No 2xx${since ? ` since ${since}` : ''}${last ? `: ${answerWords(last)}` : ''}`}
        steps={[
          ...tests,
          {
            label: `Replay all failed${since ? ` since ${since}` : ''}…`,
            why: 'Messages whose attempts have all failed, oldest first.',
            run: () => setResending(true),
          },
          ...changes,
        ]}
      >
        <Waiting webhook={webhook} />
        {nextAttemptAt && ` The next attempt is ${atInWords(Date.parse(nextAttemptAt), nowMs)}.`}
        {turnsOffAt &&
          ` If it stays so, the hub turns the webhook off ${atInWords(Date.parse(turnsOffAt), nowMs)}, with a mail to the administrators.`}
      </Box>
      {isResending && <ResendDialog webhook={webhook} onClose={() => setResending(false)} />}
    </>
  )
}

function Held({ webhook }: { webhook: WebhookDetails }) {
  const { webhookId, waitingCount } = webhook
  const start = useCommand('webhooks_StartDelivery', {
    invalidates: ['webhooks_Query', 'webhooks_GetDetails'],
  })
  async function run(waiting: 'Send' | 'Drop') {
    try {
      if (waiting === 'Drop')
        await confirmed(`Drop ${counted(waitingCount, nounOf(webhook))}? Nobody gets them.`)
      await start.mutateAsync({ webhookId, waiting })
      toast(waiting === 'Send' ? 'What waited is sent.' : 'What waited was dropped.')
    } catch (error) {
      toastError('Could not start the webhook', error)
    }
  }
  const count = formatCount(waitingCount)
  return (
    <Box
      tone="warn"
      icon={Pause}
      title="Held, because the hub was restored"
      steps={[
        {
          label: `Send what waits (${count})`,
          why: isExport(webhook)
            ? 'The collector may get events twice.'
            : 'Receivers drop repeats by webhook-id.',
          run: () => void run('Send'),
        },
        {
          label: `Drop what waits (${count})`,
          why: `New ${nounOf(webhook)}s are sent.`,
          run: () => void run('Drop'),
        },
      ]}
    >
      <Waiting webhook={webhook} /> What waits may have been sent after the backup. If the original hub still
      runs, do not start this one.
    </Box>
  )
}

const OFF_TITLE: Record<string, string> = {
  Gone: 'The hub turned it off: the receiver answered 410 Gone',
  NoSuccess: 'The hub turned it off: no answer with 2xx in five days',
}

function Off(props: WebhookProblemProps) {
  const { webhook } = props
  const { tests, changes } = receiverSteps(props)
  const { offReason } = webhook
  const { setOn } = useSetOn(webhook)
  const turnOn: Step = {
    label: 'Turn it on',
    why: 'Sends what waits, oldest first.',
    run: () => setOn(true),
  }
  return (
    <Box
      {...(offReason && { tone: 'bad' as const })}
      icon={offReason ? OctagonAlert : Ban}
      title={(offReason && OFF_TITLE[offReason]) ?? 'This webhook is off'}
      steps={[turnOn, ...tests, ...changes]}
    >
      <Waiting webhook={webhook} />{' '}
      {isExport(webhook)
        ? 'What waits is sent when it is on again. Events that devices report meanwhile are not sent.'
        : 'Messages are kept for 30 days and sent when it is on again.'}
    </Box>
  )
}

function Waiting({ webhook }: { webhook: WebhookDetails }) {
  const { droppedCount } = webhook
  return (
    <>
      {waitText(webhook)}
      {droppedCount > 0 &&
        ` ${counted(droppedCount, nounOf(webhook))} ${droppedCount === 1 ? 'was' : 'were'} ${isExport(webhook) ? 'dropped' : 'not kept, because too many waited'}.`}
    </>
  )
}
