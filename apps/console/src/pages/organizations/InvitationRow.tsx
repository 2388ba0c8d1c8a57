import type { ActionOutput } from '@muster/actions/client'
import { Ban, Check, Clock, Link2, Mail, Trash2, X } from 'lucide-react'
import { useCommand } from '../../api/queries.ts'
import { useNow } from '../../lib/app/clock.ts'
import { dateAndMinute, dayInYear } from '../../lib/app/local-time.ts'
import { relativeTime } from '../../lib/app/relative-time.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import shared from '../../ui/lazy/second-line.module.css'
import { ACTIONS, Cell, type Column, Row } from '../../ui/lazy/Table.tsx'
import { useCopy } from '../../ui/use-copy.ts'
import styles from './InvitationRow.module.css'

type Invitation = ActionOutput<'organizations_QueryInvitations'>['invitations'][number]

/** Columns of the open invitations of an organization. */
export const INVITATION_COLUMNS: readonly Column[] = [
  { name: 'Email', kind: 'title' },
  { name: 'Invited' },
  { name: 'Mail' },
  { name: 'Ends' },
  ACTIONS,
]

/** A table row with an open or ended invitation, the state of its mail, and buttons that send it again, copy its link and withdraw it. */
export function InvitationRow({ invitation }: { invitation: Invitation }) {
  const { invitationId, email, createdAt, invitingName, endsAt, link, mail } = invitation
  const nowMs = useNow()
  const invalidates = ['organizations_QueryInvitations'] as const
  const resend = useCommand('organizations_ResendInvitation', { invalidates })
  const remove = useCommand('organizations_DeleteInvitation', { invalidates })
  const { state, copy } = useCopy(link)
  const endsAtMs = endsAt === undefined ? undefined : Date.parse(endsAt)
  const hasEnded = endsAtMs !== undefined && endsAtMs <= nowMs

  async function deleteInvitation() {
    try {
      await remove.mutateAsync({ invitationId })
      toast(`Invitation of ${email} deleted.`)
      focusHeading()
    } catch (error) {
      toastError('Could not delete the invitation', error)
    }
  }

  return (
    <Row>
      <Cell>
        <div className="pair">
          <span className="lines">{email}</span>
          {hasEnded ? (
            <span className={shared.secondLine}>
              The link ended on {dayInYear(endsAtMs, nowMs)}. Resend sends a new one.
            </span>
          ) : (
            mail?.reason && <span className={shared.secondLine}>{mail.reason}</span>
          )}
        </div>
      </Cell>
      <Cell>
        <div className="pair">
          <time dateTime={createdAt}>{dateAndMinute(Date.parse(createdAt))}</time>
          {invitingName && <span className={shared.secondLine}>by {invitingName}</span>}
        </div>
      </Cell>
      <Cell>
        <MailState state={mail?.state} />
      </Cell>
      <Cell>
        {endsAtMs === undefined && <span className="muted">Never</span>}
        {hasEnded && <Badge icon={Ban}>Ended</Badge>}
        {endsAtMs !== undefined && !hasEnded && (
          <time dateTime={endsAt} data-tip={dateAndMinute(endsAtMs)}>
            {relativeTime(endsAtMs, nowMs)}
          </time>
        )}
      </Cell>
      <Cell>
        <div className={`row ${styles.actions}`}>
          <Button
            size="sm"
            icon={Mail}
            busy={resend.isPending}
            busyLabel="Sending…"
            onClick={() =>
              resend.mutate(
                { invitationId },
                {
                  onSuccess: () => toast(`Invitation of ${email} sent again.`),
                  onError: error => toastError('Could not send the invitation again', error),
                },
              )
            }
          >
            Resend<span className="visually-hidden"> the invitation of {email}</span>
          </Button>
          <Button size="sm" icon={state === 'copied' ? Check : Link2} onClick={() => void copy()}>
            {state === 'copied' ? 'Copied' : state === 'failed' ? 'Press Ctrl+C' : 'Copy link'}
            <span className="visually-hidden"> for {email}</span>
          </Button>
          <IconButton
            label={`Delete invitation of ${email}`}
            icon={Trash2}
            size="sm"
            busy={remove.isPending}
            onClick={() => void deleteInvitation()}
          />
        </div>
      </Cell>
    </Row>
  )
}

function MailState({ state }: { state: 'Sending' | 'Sent' | 'NotSent' | undefined }) {
  if (state === 'Sent')
    return (
      <Badge tone="ok" icon={Check}>
        Sent
      </Badge>
    )
  if (state === 'NotSent')
    return (
      <Badge tone="bad" icon={X}>
        Not sent
      </Badge>
    )
  return state === 'Sending' ? <Badge icon={Clock}>Sending</Badge> : <span className="muted">–</span>
}
