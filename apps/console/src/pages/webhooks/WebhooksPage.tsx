import { getRouteApi } from '@tanstack/react-router'
import { Webhook as Icon } from 'lucide-react'
import { useState } from 'react'
import { useActionPages } from '../../api/queries.ts'
import { useNow } from '../../lib/app/clock.ts'
import { counted } from '../../lib/app/format.ts'
import { sinceInWords } from '../../lib/app/local-time.ts'
import { anyText, usePageSearch } from '../../lib/app/search.ts'
import { organizationIdOf } from '../../organization.ts'
import { Alert } from '../../ui/Alert.tsx'
import { CreateButton } from '../../ui/app/CreateButton.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { Table } from '../../ui/lazy/Table.tsx'
import { NewWebhookDialog } from './NewWebhookDialog.tsx'
import { ProjectNamesFailed, useProjectNames } from './project-names.tsx'
import { WEBHOOK_COLUMNS, WebhookRow } from './WebhookRow.tsx'
import { type Webhook, waitText } from './webhook.ts'
import styles from './webhooks.module.css'
import { webhooksInput } from './webhooks-input.ts'

/** Minimum number of webhooks for a filter box above the list. */
const FILTER_FROM = 8

/** Search parameters of the list of webhooks. */
export const webhooksSearch = { q: anyText }

const route = getRouteApi('/authenticated/org_{$organization}/settings/webhooks')

/** The webhooks of an organization and its projects. */
export function WebhooksPage() {
  const organizationId = organizationIdOf(route.useParams())
  const [{ q = '' }, change] = usePageSearch(webhooksSearch)
  const [isCreating, setCreating] = useState(false)
  const list = useActionPages('webhooks_Query', webhooksInput(organizationId, q))
  const webhooks = list.data?.pages.flatMap(page => page.webhooks)
  const projects = useProjectNames(organizationId, webhooks?.some(one => one.projectId) ?? false)
  // While the list for another filter text loads, the filter box stays, because the user may be typing in it.
  const isFiltered = q.trim() !== '' || list.isPlaceholderData
  const isEmpty = webhooks?.length === 0 && !isFiltered
  const createButton = <CreateButton onClick={() => setCreating(true)}>New Webhook</CreateButton>
  return (
    <ListPage
      title="Webhooks"
      what="webhooks"
      list={list}
      shown={webhooks?.length}
      actions={
        <>
          {(isFiltered || (list.data?.pages[0]?.total ?? 0) >= FILTER_FROM) && (
            <FilterBox
              value={q}
              onChange={value => change({ q: value })}
              label="Filter webhooks"
              placeholder="Filter by name or id"
            />
          )}
          {!isEmpty && createButton}
        </>
      }
      below={
        isCreating && <NewWebhookDialog organizationId={organizationId} onClose={() => setCreating(false)} />
      }
    >
      {isEmpty ? (
        <EmptyState icon={Icon} title="Tell another program what happens" action={createButton}>
          A webhook sends a message to an address of yours when something happens in this organization, for
          example when a device is new.
        </EmptyState>
      ) : (
        <div className={styles.list}>
          <Problems webhooks={webhooks ?? []} />
          <ProjectNamesFailed error={projects.error} />
          <Table
            caption="Webhooks"
            columns={WEBHOOK_COLUMNS}
            bars={4}
            rows={webhooks?.map(webhook => (
              <WebhookRow
                key={webhook.webhookId}
                webhook={webhook}
                projectName={projects.nameOf(webhook.projectId)}
              />
            ))}
            none={<NoMatch what="webhooks" onClear={() => change({ q: '' })} />}
          />
          {webhooks && (
            <p className="help">
              Messages are sent at least once and kept for 30 days. A receiver drops repeats by{' '}
              <span className="mono">webhook-id</span>.
            </p>
          )}
        </div>
      )}
    </ListPage>
  )
}

/** The webhooks that a person must look at: those that fail, and those that a restore of the hub holds. */
function Problems({ webhooks }: { webhooks: readonly Webhook[] }) {
  const nowMs = useNow()
  const failing = webhooks.filter(({ state }) => state === 'Failing')
  const held = webhooks.filter(({ state }) => state === 'Held')
  const [first] = failing
  return (
    <>
      {first && (
        <Alert
          tone="bad"
          action={<OpenLink webhookId={first.webhookId} name={first.name} />}
          title={
            failing.length > 1
              ? `${counted(failing.length, 'webhook')} fail.`
              : `${first.name} has not answered with 2xx${first.failingSince === undefined ? '' : ` since ${sinceInWords(Date.parse(first.failingSince), nowMs)}`}.`
          }
        >
          {failing.length > 1 ? (
            `${failing.map(({ name }) => name).join(', ')}: messages wait until the receivers answer.`
          ) : (
            <>
              {waitText(first)}
              {first.nextAttemptAt !== undefined &&
                ` The next attempt is at ${sinceInWords(Date.parse(first.nextAttemptAt), nowMs)}.`}{' '}
              After five days the hub turns it off.
            </>
          )}
        </Alert>
      )}
      {held[0] && (
        <Alert
          tone="warn"
          action={<OpenLink webhookId={held[0].webhookId} name={held[0].name} />}
          title={`${counted(held.length, 'webhook')} ${held.length === 1 ? 'is' : 'are'} held, because the hub was restored.`}
        >
          {held.length === 1 ? 'It sends' : 'They send'} nothing until an administrator decides about what
          waits.
        </Alert>
      )}
    </>
  )
}

function OpenLink({ webhookId, name }: { webhookId: string; name: string }) {
  return (
    <LinkButton
      from="/org_{$organization}/settings/webhooks"
      to="./$webhookId"
      params={{ webhookId }}
      size="sm"
      aria-label={`Open ${name}`}
    >
      Open
    </LinkButton>
  )
}
