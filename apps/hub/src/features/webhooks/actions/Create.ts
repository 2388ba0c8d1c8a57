import { newDatedId, newId } from '@muster/actions'
import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { lockReader } from '../feed.ts'
import { shownAddress } from '../formats.ts'
import { testMessage } from '../special-messages.ts'
import {
  addressError,
  makeSecret,
  requireFields,
  requireWebhookRoom,
  sealedAddress,
  settingsOf,
} from '../webhook-rows.ts'

/** Makes a webhook. Before the transaction, its address is checked, and with `isTested` a test message is sent. */
export const webhooks_Create = handler('webhooks_Create', {
  prepare: async ({ db, services, signal }, input) => {
    const { organizationId, projectId, format, url, credential, isTested = false } = input
    if (projectId !== undefined) {
      const project = await db
        .selectFrom('project')
        .where('project_id', '=', projectId)
        .where('organization_id', '=', organizationId)
        .select('project_id')
        .executeTakeFirst()
      if (!project) throw refusal()
    }
    const { sender, secretBox } = services.webhookParts
    const webhookId = newId('wh')
    const target = { url, format, credential, room: input.room, template: input.template }
    requireFields(target)
    await sender.check(target).catch(error => {
      throw addressError(error)
    })
    const { signingSecret, sealed } = makeSecret(secretBox, webhookId)
    const test = isTested
      ? await sender.send(
          target,
          [signingSecret],
          testMessage({ organizationId, webhookId, name: input.name }, newDatedId('msg')),
          signal,
        )
      : undefined
    return async ({ tx, events, changed, afterCommit }) => {
      if (test && !test.isSuccess) return { result: 'TestFailed' as const, test }
      await lockReader(tx, organizationId)
      await requireWebhookRoom(tx, services, organizationId)
      await tx
        .insertInto('webhook')
        .values({
          webhook_id: webhookId,
          organization_id: organizationId,
          project_id: projectId ?? null,
          format,
          secret: sealed,
          ...sealedAddress(secretBox, webhookId, target),
          ...settingsOf(input),
        })
        .execute()
      await tx.insertInto('webhook_queue').values({ webhook_id: webhookId }).execute()
      const { name } = input
      const address = shownAddress(url, format)
      await events.emit('webhooks_Created', {
        organizationId,
        ...(projectId && { projectId }),
        webhookId,
        name,
        format,
        address,
      })
      changed('webhooks')
      afterCommit(() => services.dispatcher.readersChanged())
      return { result: 'Created' as const, webhookId, signingSecret, test }
    }
  },
})
