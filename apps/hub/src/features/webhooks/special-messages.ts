import type { Sent } from './formats.ts'

type About = { organizationId: string; webhookId: string; name: string }

/** Message with which a person tests a webhook. */
export function testMessage(about: About, messageId: string): Sent {
  return special('webhook.test', `Test of the webhook ${about.name}`, about, messageId)
}

/** Last message of a webhook before it is deleted, or before its address changes. */
export function farewellMessage(about: About, messageId: string): Sent {
  return special(
    'webhook.deleted',
    `The webhook ${about.name} sends no more messages to this address`,
    about,
    messageId,
  )
}

function special(
  type: string,
  title: string,
  { organizationId, webhookId, name }: About,
  messageId: string,
): Sent {
  return {
    messageId,
    type,
    timestamp: new Date().toISOString(),
    data: { organizationId, title, data: { webhookId, name } },
  }
}
