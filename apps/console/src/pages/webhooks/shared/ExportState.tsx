import { Link } from '@tanstack/react-router'
import { useActionState } from '../../../api/queries.ts'
import { counted } from '../../../lib/app/format.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import details from '../../../ui/lazy/details.module.css'
import { Moment } from '../../../ui/lazy/Moment.tsx'
import { StateBadge } from '../../../ui/lazy/StateBadge.tsx'
import { isExport, WEBHOOK_LOOKS, waitText } from '../webhook.ts'

/** Webhooks among which the export is looked for. An organization has at most 50, unless the operator allows more. */
const MOST_WEBHOOKS = 500

type ExportStateProps = { organizationId: string; projectId: string }

/** State of the export of the events of a project: what waits, what was dropped, since when it fails, and the link to its log. */
export function ExportState({ organizationId, projectId }: ExportStateProps) {
  const { data, error } = useActionState('webhooks_Query', { organizationId, limit: MOST_WEBHOOKS })
  const webhook = data?.webhooks.find(one => isExport(one) && one.projectId === projectId)
  if (error && !data) return <ErrorAlert title="Could not load the state of the export." error={error} />
  if (!webhook) return null
  const { webhookId, state, droppedCount, failingSince } = webhook
  return (
    <dl className={details.facts}>
      <dt>State</dt>
      <dd>
        <StateBadge looks={WEBHOOK_LOOKS} state={state} />
      </dd>
      {failingSince !== undefined && (
        <>
          <dt>Failing since</dt>
          <dd>
            <Moment at={failingSince} isSince />
          </dd>
        </>
      )}
      <dt>Waiting</dt>
      <dd>{waitText(webhook)}</dd>
      <dt>Dropped</dt>
      <dd>{droppedCount === 0 ? 'No event' : counted(droppedCount, 'event')}</dd>
      <dt>Log</dt>
      <dd>
        <Link
          from="/org_{$organization}/projects/$projectId/settings"
          to="/org_{$organization}/settings/webhooks/$webhookId"
          params={{ webhookId }}
        >
          Attempts, replay and deletion
        </Link>
      </dd>
    </dl>
  )
}
