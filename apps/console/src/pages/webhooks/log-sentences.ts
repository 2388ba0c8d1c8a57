import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of webhooks and the feed of events. */
export const webhookEvents = {
  events_FeedChanged: {
    kind: 'organization',
    say: ({ data: { isOn } }) => `turned the feed of events of {organizationId} ${isOn ? 'on' : 'off'}`,
  },
  projects_OtlpConfigChanged: {
    kind: 'project',
    say: ({ data: { enabled } }) =>
      enabled
        ? 'set that events of {projectId} are sent to <endpoint> (OTLP)'
        : 'turned the export of events of {projectId} off (OTLP)',
  },
  projects_ExportedEventsDropped: {
    kind: 'project',
    say: 'dropped events of {projectId} that the export (OTLP) could not keep, [droppedCount] since it was made',
  },
  webhooks_Created: { kind: 'organization', say: 'made the webhook [name] to <address> in {organizationId}' },
  webhooks_Changed: {
    kind: 'organization',
    say: ({ data, old }) =>
      old?.isOn !== undefined && old.isOn !== data.isOn
        ? `turned the webhook [name] of {organizationId} ${data.isOn ? 'on' : 'off'}`
        : 'changed the webhook [name] to <address> of {organizationId}',
  },
  webhooks_Deleted: { kind: 'organization', say: 'deleted the webhook [name] of {organizationId}' },
  webhooks_Tested: { kind: 'organization', say: 'tested the webhook [name] of {organizationId}' },
  webhooks_SecretReset: {
    kind: 'organization',
    say: 'made a new secret for the webhook [name] of {organizationId}',
  },
  webhooks_MessagesResent: {
    kind: 'organization',
    say: 'sent [messageCount] messages of the webhook [name] of {organizationId} again',
  },
  webhooks_DeliveryStarted: {
    kind: 'organization',
    say: ({ data: { waiting } }) =>
      `started the webhook [name] of {organizationId} after a restore, and ${waiting === 'Drop' ? 'dropped' : 'sent'} what waited`,
  },
  webhooks_TurnedOff: {
    kind: 'organization',
    say: ({ data: { reason } }) =>
      `turned the webhook [name] of {organizationId} off, because ${reason === 'Gone' ? 'its receiver answered 410' : 'no message was taken for five days'}`,
  },
  webhooks_OffEmailSent: {
    kind: 'organization',
    say: 'mailed {userId} that a webhook of {organizationId} was turned off',
  },
} as const satisfies EventSentences<'webhooks'>

/** Phrases for the logged actions on webhooks and the feed of events. */
export const webhookActions = {
  events_SetFeed: { kind: 'organization', say: 'turn the feed of events of {organizationId} on or off' },
  projects_SetOtlpConfig: { kind: 'project', say: 'change the export of events of {projectId} (OTLP)' },
  webhooks_Create: { kind: 'organization', say: 'make the webhook [name] in {organizationId}' },
  webhooks_Set: { kind: 'organization', say: 'change the webhook [name]' },
  webhooks_Delete: { kind: 'organization', say: 'delete a webhook' },
  webhooks_Test: { kind: 'organization', say: 'test a webhook' },
  webhooks_ResetSecret: { kind: 'organization', say: 'make a new secret for a webhook' },
  webhooks_ResendMessage: { kind: 'organization', say: 'send a message of a webhook again' },
  webhooks_ResendFailed: { kind: 'organization', say: 'send failed messages of a webhook again' },
  webhooks_StartDelivery: { kind: 'organization', say: 'start a webhook after a restore' },
} as const satisfies ActionPhrases<'webhooks'>
