import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Ellipsis, Pencil, Power, RefreshCw, Send, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { invalidateActions, useAction, useActionState, useCommand } from '../../api/queries.ts'
import { confirmed } from '../../lib/app/confirm.ts'
import { useIsNarrow } from '../../lib/app/use-is-narrow.ts'
import { organizationIdOf } from '../../organization.ts'
import { Alert, ErrorAlert } from '../../ui/Alert.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { LiveStamp } from '../../ui/app/LiveStamp.tsx'
import { Menu, MenuItem } from '../../ui/app/Menu.tsx'
import { Page } from '../../ui/app/Page.tsx'
import { RefreshButton } from '../../ui/app/RefreshButton.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { Settled } from '../../ui/app/Settled.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { isAbsent } from '../../ui/is-absent.ts'
import { Breadcrumb } from '../../ui/lazy/Breadcrumb.tsx'
import { DangerLine, DangerZone } from '../../ui/lazy/DangerZone.tsx'
import details from '../../ui/lazy/details.module.css'
import { EntityHead } from '../../ui/lazy/EntityHead.tsx'
import { Moment } from '../../ui/lazy/Moment.tsx'
import { SheetSkeleton } from '../../ui/lazy/SheetSkeleton.tsx'
import { StateBadge } from '../../ui/lazy/StateBadge.tsx'
import { Absent } from '../../ui/NotFound.tsx'
import { Title } from '../../ui/Title.tsx'
import { AttemptsSection } from './AttemptsSection.tsx'
import { ChangeWebhookDialog } from './ChangeWebhookDialog.tsx'
import { ProjectSettingsLink } from './ProjectSettingsLink.tsx'
import { ProjectNamesFailed, useProjectNames } from './project-names.tsx'
import { SigningSecretDialog } from './SigningSecretDialog.tsx'
import { useSetOn } from './use-set-on.ts'
import styles from './WebhookPage.module.css'
import { WebhookProblem } from './WebhookProblem.tsx'
import { formatWords, isExport, testSentence, WEBHOOK_LOOKS, type WebhookDetails } from './webhook.ts'

const SETTINGS = '/org_{$organization}/settings'

const route = getRouteApi('/authenticated/org_{$organization}/settings/webhooks/$webhookId')

/** A webhook: whether it delivers, its attempts, what it sends, its secret, and its deletion. */
export function WebhookPage() {
  const { organization, webhookId } = route.useParams()
  const organizationId = organizationIdOf({ organization })
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const webhook = useAction('webhooks_GetDetails', { webhookId })
  const { error, dataUpdatedAt, errorUpdatedAt } = useActionState('webhooks_GetDetails', { webhookId })
  const projects = useProjectNames(organizationId, webhook.projectId !== undefined)
  const [isChanging, setChanging] = useState(false)
  const test = useCommand('webhooks_Test')
  const remove = useCommand('webhooks_Delete', {
    deletes: input => input.webhookId,
    invalidates: ['webhooks_Query'],
    onSuccess: () => navigate({ to: `${SETTINGS}/webhooks`, params: { organization } }),
  })
  if (webhook.organizationId !== organizationId)
    return <Absent reason="The webhook belongs to another organization." />
  // The webhook may be deleted while its page is open.
  if (isAbsent(error)) return <Absent reason={error} />
  const { name, address, state } = webhook
  const sendTest = () => test.mutate({ webhookId })
  const change = () => setChanging(true)
  const refresh = () => invalidateActions(queryClient, ['webhooks_GetDetails', 'webhooks_QueryAttempts'])
  return (
    <Page width="list">
      <Title page={name} />
      <Settled
        label="Loading webhook"
        skeleton={
          <>
            <Breadcrumb links={['Webhooks']} here={undefined} />
            <EntityHead title={name} facts={<span className="mono">{webhookId}</span>} />
            <SheetSkeleton heightPx={420} />
          </>
        }
      >
        <Breadcrumb
          links={[
            <Link key="webhooks" from={SETTINGS} to="./webhooks">
              Webhooks
            </Link>,
          ]}
          here={name}
        />
        <EntityHead
          title={name}
          badges={<StateBadge looks={WEBHOOK_LOOKS} state={state} />}
          facts={
            <>
              <Id id={webhookId} what="webhook id" />
              <span className="mono break-anywhere">{address}</span>
            </>
          }
          actions={
            <>
              <LiveStamp updatedAt={dataUpdatedAt} failedAt={errorUpdatedAt} />
              <RefreshButton onRefresh={refresh} />
              {!isExport(webhook) && (
                <Button icon={Send} busy={test.isPending} busyLabel="Sending…" onClick={sendTest}>
                  Send Test
                </Button>
              )}
              <WebhookMenu webhook={webhook} refresh={refresh} sendTest={sendTest} onChange={change} />
            </>
          }
        />
        <div className={styles.notices}>
          <ErrorAlert title="The test message was not sent." error={test.error} />
          {test.data && (
            <Alert
              tone={test.data.test.isSuccess ? 'ok' : 'bad'}
              title={testSentence(test.data.test)}
              action={
                <Button size="sm" variant="ghost" onClick={() => test.reset()}>
                  Close
                </Button>
              }
            >
              {test.data.test.answer && <bdi className="mono">{test.data.test.answer}</bdi>}
            </Alert>
          )}
          <ProjectNamesFailed error={projects.error} />
          <WebhookProblem webhook={webhook} onTest={sendTest} onChange={change} />
        </div>
        <div className={styles.columns}>
          <div className="stack">
            <AttemptsSection webhook={webhook} />
          </div>
          <div className="stack">
            <SendsSection
              webhook={webhook}
              projectName={projects.nameOf(webhook.projectId)}
              onChange={change}
            />
            {formatWords(webhook.format).isSigned && <SecretSection webhook={webhook} />}
          </div>
          <DangerZone>
            <DangerLine
              name="Delete Webhook"
              consequence={
                isExport(webhook)
                  ? 'Removes the export of events with its headers, its log and the events that wait. This cannot be undone.'
                  : 'Sends webhook.deleted once to the receiver, then removes the webhook with its log and what waits. This cannot be undone.'
              }
              icon={Trash2}
              busyLabel="Deleting…"
              question="Are you sure you want to delete this webhook?"
              act={async () => {
                await remove.mutateAsync({ webhookId })
                toast(`Webhook ${name} deleted.`)
              }}
              failure="Could not delete the webhook"
            />
          </DangerZone>
        </div>
      </Settled>
      {isChanging && <ChangeWebhookDialog webhook={webhook} onClose={() => setChanging(false)} />}
    </Page>
  )
}

type WebhookMenuProps = {
  webhook: WebhookDetails
  refresh: () => Promise<void>
  sendTest: () => void
  onChange: () => void
}

/** Menu "…" of the page. On phones it stands beside the breadcrumb and also has what the head has no room for. */
function WebhookMenu({ webhook, refresh, sendTest, onChange }: WebhookMenuProps) {
  const isNarrow = useIsNarrow()
  const { isOn, isBusy, setOn } = useSetOn(webhook)
  return (
    <Menu
      align="end"
      trigger={
        <IconButton
          label="More actions"
          icon={Ellipsis}
          variant={isNarrow ? 'ghost' : 'secondary'}
          busy={isBusy}
        />
      }
    >
      {isNarrow && !isExport(webhook) && (
        <MenuItem icon={Send} onSelect={sendTest}>
          Send Test
        </MenuItem>
      )}
      {!isExport(webhook) && (
        <MenuItem icon={Pencil} onSelect={onChange}>
          Change…
        </MenuItem>
      )}
      <MenuItem icon={Power} onSelect={() => setOn(!isOn)}>
        {isOn ? 'Turn Off' : 'Turn On'}
      </MenuItem>
      <MenuItem icon={RefreshCw} onSelect={() => void refresh()}>
        Refresh
      </MenuItem>
    </Menu>
  )
}

type SendsSectionProps = {
  webhook: WebhookDetails
  projectName: string | undefined
  onChange: () => void
}

function SendsSection({ webhook, projectName, onChange }: SendsSectionProps) {
  const { types, format, room, template, projectId } = webhook
  return (
    <Section
      title="Sends"
      padded={false}
      aside={
        !isExport(webhook) && (
          <>
            <span className="grow" />
            <Button size="sm" onClick={onChange}>
              Change…
            </Button>
          </>
        )
      }
    >
      <dl className={`inset ${details.facts} ${styles.facts}`}>
        <dt>Types</dt>
        <dd>
          {types
            ? types.map(type => (
                <div key={type} className="mono">
                  {type}
                </div>
              ))
            : isExport(webhook)
              ? 'Events of devices'
              : 'All messages'}
        </dd>
        <dt>Of</dt>
        <dd>{projectName ?? 'All projects'}</dd>
        <dt>Format</dt>
        <dd>{formatWords(format).label}</dd>
        {room !== undefined && (
          <>
            <dt>Room</dt>
            <dd className="mono">{room}</dd>
          </>
        )}
        {template !== undefined && (
          <>
            <dt>Template</dt>
            <dd className="mono">{template}</dd>
          </>
        )}
        <dt>Attempts</dt>
        <dd>8, over 28 h</dd>
      </dl>
      {isExport(webhook) && projectId !== undefined && (
        <p className={`inset ${styles.elsewhere}`}>
          <ProjectSettingsLink projectId={projectId} />
        </p>
      )}
    </Section>
  )
}

function SecretSection({ webhook }: { webhook: WebhookDetails }) {
  const { webhookId, formerSignatureUntil, createdAt } = webhook
  // The secret is kept in this state only, not in the query cache, and is gone when the dialog closes.
  const [secret, setSecret] = useState<string>()
  const reset = useCommand('webhooks_ResetSecret', {
    invalidates: ['webhooks_GetDetails'],
    onSuccess: ({ signingSecret }) => setSecret(signingSecret),
  })
  async function rotate() {
    try {
      await confirmed('Make a new signing secret? The present one signs too for 24 hours.')
      await reset.mutateAsync({ webhookId })
    } catch (error) {
      toastError('Could not make a new secret', error)
    }
  }
  return (
    <Section
      title="Secret"
      padded={false}
      aside={
        <>
          <span className="grow" />
          <Button size="sm" busy={reset.isPending} busyLabel="Making…" onClick={() => void rotate()}>
            Rotate…
          </Button>
        </>
      }
    >
      <dl className={`inset ${details.facts} ${styles.facts}`}>
        <dt>Shown</dt>
        <dd>Once, when it is made</dd>
        {formerSignatureUntil === undefined ? (
          <>
            <dt>Webhook made</dt>
            <dd>
              <Moment at={createdAt} />
            </dd>
          </>
        ) : (
          <>
            <dt>Former one</dt>
            <dd>
              signs too until <Moment at={formerSignatureUntil} />
            </dd>
          </>
        )}
      </dl>
      {secret !== undefined && (
        <SigningSecretDialog
          title="New signing secret"
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </Section>
  )
}
