import { ActionError, actions, type ParsedInput } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../platform/access/authorize.ts'
import type { Scope } from '../../platform/access/scope.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { type Caller, personOf } from '../../platform/pipeline/caller.ts'
import { requireListColumns } from '../../platform/pipeline/input-rules.ts'
import { wireTime } from '../../platform/runtime/times.ts'
import { actorName } from '../audit/index.ts'

/** Query for the views of a project that a caller sees. */
export function visibleViews(db: Db, caller: Caller, projectId: string) {
  const userId = personOf(caller)?.userId ?? ''
  return db
    .selectFrom('device_view as v')
    .where('v.project_id', '=', projectId)
    .where(sql<boolean>`(v.is_shared or v.owner_id = ${userId})`)
    .select([
      'v.view_id',
      'v.name',
      'v.filter',
      'v.columns',
      'v.sort',
      'v.is_shared',
      'v.is_in_row',
      'v.owner_id',
      'v.created_at',
      'v.changed_at',
      'v.deleted_at',
      'v.deleted_by',
      actorName(sql`v.owner_id`),
    ])
}

/**
 * Conditions of a view that a caller sees. Throws `Forbidden` for a view that the caller does not see or that does not exist, `Invalid` for a
 * deleted one and for conditions that this release does not know.
 */
export async function filterOfView(
  db: Db,
  caller: Caller,
  projectId: string,
  viewId: string,
): Promise<ParsedInput<'views_Create'>['conditions']> {
  const row = await visibleViews(db, caller, projectId).where('v.view_id', '=', viewId).executeTakeFirst()
  if (!row) throw refusal()
  if (row.deleted_at)
    throw new ActionError('Invalid', `The view "${row.name}" was deleted. Choose another one.`, {
      status: 409,
    })
  const { data } = actions.views_Create.input.shape.conditions.safeParse(row.filter)
  if (!data)
    throw new ActionError(
      'Invalid',
      `The conditions of the view "${row.name}" are of another release. Save the view again.`,
      { status: 409 },
    )
  return data
}

type ViewRow = Awaited<ReturnType<ReturnType<typeof visibleViews>['execute']>>[number]

/** A view as answers have it. */
export function viewOf(row: ViewRow, { rights }: Scope) {
  return {
    viewId: row.view_id,
    name: row.name,
    conditions: row.filter as never,
    columns: (row.columns ?? undefined) as never,
    order: row.sort ?? undefined,
    isShared: row.is_shared,
    isInRow: row.is_in_row,
    ownerId: row.owner_id ?? undefined,
    ownerName: row.actor_name ?? undefined,
    mayChange: rights?.has('manage') ?? false,
    createdAt: wireTime(row.created_at),
    changedAt: wireTime(row.changed_at),
  }
}

/** The columns of a view's row that its input sets. Throws `Invalid` (409) for columns of the list as `requireListColumns` does. */
export function columnsOf({
  name,
  conditions,
  columns,
  order,
  isShared,
  isInRow,
}: ParsedInput<'views_Create'>) {
  requireListColumns(columns)
  return {
    name,
    filter: JSON.stringify(conditions),
    columns: columns === undefined ? null : JSON.stringify(columns),
    sort: order ?? null,
    is_shared: isShared,
    is_in_row: isInRow ?? false,
  }
}

/** Locks a view that a person who may manage the project may change: a shared one, or their own. Throws `Forbidden` for others, as for a view that does not exist. */
export async function lockOwnView(tx: Tx, userId: string, projectId: string, viewId: string) {
  const view = await tx
    .selectFrom('device_view')
    .where('view_id', '=', viewId)
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .select(['name', 'is_shared', 'owner_id'])
    .forUpdate()
    .executeTakeFirst()
  if (!view || !(view.is_shared || view.owner_id === userId)) throw refusal()
  return view
}
