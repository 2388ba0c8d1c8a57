import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of webhooks and the feed of events. */
export const webhookEvents = {
  events_FeedChanged: {
    kind: 'organization',
    say: ({ data: { isOn } }) => `turned the feed of events of {organizationId} ${isOn ? 'on' : 'off'}`,
  },
} as const satisfies EventSentences<'webhooks'>

/** Phrases for the logged actions on webhooks and the feed of events. */
export const webhookActions = {
  events_SetFeed: { kind: 'organization', say: 'turn the feed of events of {organizationId} on or off' },
} as const satisfies ActionPhrases<'webhooks'>
