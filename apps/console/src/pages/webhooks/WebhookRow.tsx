import { Link } from '@tanstack/react-router'
import { counted } from '../../lib/app/format.ts'
import { Switch } from '../../ui/app/Switch.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { StateBadge } from '../../ui/lazy/StateBadge.tsx'
import shared from '../../ui/lazy/second-line.module.css'
import { Cell, type Column, Row } from '../../ui/lazy/Table.tsx'
import { useSetOn } from './use-set-on.ts'
import { formatWords, isExport, nounOf, WEBHOOK_LOOKS, type Webhook } from './webhook.ts'

/** Columns of the webhooks. The name takes the remaining width. */
export const WEBHOOK_COLUMNS: readonly Column[] = [
  { name: 'Name', kind: 'title' },
  { name: 'Format', widthPx: 150 },
  { name: 'Sends', widthPx: 220 },
  { name: 'State', widthPx: 128 },
  { name: 'Messages', widthPx: 140 },
  { name: 'Last attempt', widthPx: 132 },
  { name: 'On', widthPx: 92 },
]

/** Types that a row names; the page of the webhook has all. */
const MOST_TYPES = 3

type WebhookRowProps = {
  webhook: Webhook
  /** Name of the project whose messages it sends; undefined for those of all projects. */
  projectName: string | undefined
}

/** A webhook in the list, with the switch that turns it on and off. */
export function WebhookRow({ webhook, projectName }: WebhookRowProps) {
  const { webhookId, name, address, format, types, state, waitingCount, droppedCount, lastAttemptAt } =
    webhook
  return (
    <Row>
      <Cell>
        <div className="pair">
          <Link
            from="/org_{$organization}/settings/webhooks"
            to="./$webhookId"
            params={{ webhookId }}
            className="name"
          >
            {name}
          </Link>
          <span className={`mono ${shared.secondLine}`}>{address}</span>
        </div>
      </Cell>
      <Cell>{formatWords(format).label}</Cell>
      <Cell>
        <div className="pair">
          <span className="lines">
            {types ? (
              <>
                <span className="mono">{types.slice(0, MOST_TYPES).join(', ')}</span>
                {types.length > MOST_TYPES && ` and ${types.length - MOST_TYPES} more`}
              </>
            ) : isExport(webhook) ? (
              'Events of devices'
            ) : (
              'All messages'
            )}
          </span>
          {projectName !== undefined && <span className={shared.secondLine}>of {projectName}</span>}
        </div>
      </Cell>
      <Cell>
        <StateBadge looks={WEBHOOK_LOOKS} state={state} />
      </Cell>
      <Cell>
        <div className="pair">
          {waitingCount === 0 ? (
            <span className="muted">None waits</span>
          ) : (
            <span className="lines">
              {counted(waitingCount, 'message')} {waitingCount === 1 ? 'waits' : 'wait'}
            </span>
          )}
          {droppedCount > 0 && (
            <span className={shared.warning}>{counted(droppedCount, nounOf(webhook))} not kept</span>
          )}
        </div>
      </Cell>
      <Cell>{lastAttemptAt ? <Time at={lastAttemptAt} /> : <span className="muted">Never</span>}</Cell>
      <Cell>
        <OnSwitch webhook={webhook} />
      </Cell>
    </Row>
  )
}

function OnSwitch({ webhook }: { webhook: Webhook }) {
  const { isOn, isBusy, setOn } = useSetOn(webhook)
  return <Switch label={`Webhook ${webhook.name}`} checked={isOn} busy={isBusy} onChange={setOn} />
}
