import type { Tx } from '../../platform/database/client/connection.ts'
import type { LimitValues } from '../../platform/limits/limits.ts'
import { requireRoom } from '../../platform/limits/require-room.ts'

/**
 * Checks that a person may have one more view of this kind in a project. Locks the project, so that concurrent calls cannot together exceed the
 * limit. Throws `LimitReached`.
 */
export async function requireRoomForView(
  tx: Tx,
  services: { limits: LimitValues },
  { projectId, userId }: { projectId: string; userId: string },
  isShared: boolean,
): Promise<void> {
  await tx
    .selectFrom('project')
    .where('project_id', '=', projectId)
    .select('project_id')
    .forNoKeyUpdate()
    .execute()
  const { count } = await tx
    .selectFrom('device_view')
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .where('is_shared', '=', isShared)
    .$if(!isShared, views => views.where('owner_id', '=', userId))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const limit = isShared ? 'project-shared-views' : 'person-project-views'
  requireRoom(services, limit, { projectId, userId }, count, 'Delete a view that nobody uses.')
}
