import { ActionError, type BulkActionKind, MAX_INLINE_BULK_ITEMS } from '@muster/actions'
import { sql } from 'kysely'
import { refusal, requirePerson } from '../../platform/access/authorize.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import type { BulkActions } from './bulk-actions.ts'
import { BULK_KINDS, isChange } from './kinds.ts'

/** Maximum age of a preview (a prepared bulk action), in minutes. An older preview cannot be started. */
const PREVIEW_MINUTES = 60
/** If a request has not finished its bulk action after this time, in seconds, the job continues it. */
const INLINE_SECS = 10

/** Maximum number of unfinished bulk actions of a project. */
const MAX_UNFINISHED = 5

type Start = {
  context: Pick<CommandTransaction, 'tx' | 'events' | 'enqueue' | 'afterCommit'> & {
    caller: Caller
    actionId: string
  }
  bulkActions: BulkActions
  kinds: readonly BulkActionKind[]
  projectId: string
  bulkActionId: string
}

/**
 * Starts a previewed bulk action. Up to `MAX_INLINE_BULK_ITEMS` items are processed before the request is answered. A job processes
 * larger bulk actions. It begins a deletion after 10 s, so that the person can cancel it. Throws `Forbidden` for an absent preview,
 * `Invalid` for an old or started preview.
 */
export async function startBulkAction({
  context: { tx, events, enqueue, afterCommit, caller, actionId },
  bulkActions,
  kinds,
  projectId,
  bulkActionId,
}: Start): Promise<void> {
  const person = requirePerson(caller)
  const preview = await tx
    .selectFrom('bulk_action')
    .where('bulk_action_id', '=', bulkActionId)
    .where('project_id', '=', projectId)
    .where('kind', 'in', [...kinds])
    .select([
      'kind',
      'status',
      'item_count',
      'skipped_count',
      sql<boolean>`created_at < now() - make_interval(mins => ${PREVIEW_MINUTES})`.as('is_old'),
    ])
    .forUpdate()
    .executeTakeFirst()
  if (!preview) throw refusal()
  // A preview of changes skips the devices that do not change.
  const itemCount = preview.item_count - preview.skipped_count
  const kind = preview.kind as BulkActionKind
  if (preview.status !== 'Prepared')
    throw new ActionError('Invalid', 'This bulk action was started already.', { status: 409 })
  if (preview.is_old)
    throw new ActionError('Invalid', `The preview is older than ${PREVIEW_MINUTES} min. Make a new one.`, {
      status: 409,
    })
  if (itemCount === 0 && isChange(kind))
    throw new ActionError('Invalid', 'Nothing to do: the preview has no device that changes.', {
      status: 409,
    })
  await requireRoomForRun(tx, projectId)
  const isInline = itemCount <= MAX_INLINE_BULK_ITEMS
  const { delaySecs } = BULK_KINDS[kind]
  const waitSecs = isInline ? INLINE_SECS : delaySecs
  await tx
    .updateTable('bulk_action')
    .set({
      status: !isInline && delaySecs > 0 ? 'Waiting' : 'Running',
      action_id: actionId,
      // A colleague may start this preview too; the bulk action then runs with the rights of the colleague.
      user_id: person.userId,
      session_id: person.actor === 'User' ? person.sessionId : null,
      token_id: person.actor === 'UserToken' ? person.tokenId : null,
      started_at: sql`now()`,
      due_at: sql`now() + make_interval(secs => ${waitSecs})`,
    })
    .where('bulk_action_id', '=', bulkActionId)
    .execute()
  await events.emit('devices_BulkActionStarted', { projectId, bulkActionId, kind, itemCount })
  if (isInline) afterCommit(db => bulkActions.of(db).runWhole(bulkActionId))
  else await enqueue('devices_RunBulkActions', {})
}

/** Throws `Invalid` if the project already has `MAX_UNFINISHED` unfinished bulk actions. */
async function requireRoomForRun(tx: Tx, projectId: string): Promise<void> {
  const { count } = await tx
    .selectFrom('bulk_action')
    .where('project_id', '=', projectId)
    .where('status', 'in', ['Waiting', 'Running'])
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  if (count >= MAX_UNFINISHED)
    throw new ActionError(
      'Invalid',
      `Found ${count} unfinished bulk actions in this project, expected fewer than ${MAX_UNFINISHED}. Wait for one or cancel it.`,
      { status: 409 },
    )
}
