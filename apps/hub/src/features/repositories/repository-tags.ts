import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import type { Scope } from '../../platform/access/scope.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import { wireActor } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'

type Context = Pick<CommandTransaction, 'tx' | 'events'> & { caller: Caller; scope: Scope }
type NewTag = { tag: string; locked?: boolean | undefined; reassign?: boolean | undefined }
type Change = { tag: string; version_id: string | null; locked: boolean }

type VersionTag = { tag: string; locked: boolean }

const MAX_VERSION_LOOKUPS = 500

/** Tags of versions of a package by version id, sorted by name. Versions without tags have no entry. */
export async function tagsOf(
  db: Db,
  packageId: string,
  versionIds: readonly string[],
): Promise<Map<string, VersionTag[]>> {
  let query = db
    .selectFrom('package_tag')
    .where('package_id', '=', packageId)
    .select(['version_id', 'tag', 'locked'])
    .orderBy('tag')
  // For more versions than a page contains, reading all tags of the package is faster, because an index returns them in order.
  if (versionIds.length <= MAX_VERSION_LOOKUPS)
    query = query.where(sql<boolean>`version_id = any (${versionIds})`)
  const rows = await query.execute()
  const tags = new Map<string, VersionTag[]>()
  for (const { version_id: versionId, tag, locked } of rows) {
    const known = tags.get(versionId)
    if (known) known.push({ tag, locked })
    else tags.set(versionId, [{ tag, locked }])
  }
  return tags
}

/**
 * Locks the tags of a package until the end of the transaction. A command that waited for the lock sees the changes of the command
 * before it.
 */
export async function lockTags(tx: Tx, packageId: string): Promise<void> {
  await tx
    .selectFrom('package')
    .where('package_id', '=', packageId)
    .select('package_id')
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

/**
 * Adds tags to a version, all or none (docs/api.md 4.6). A tag of another version moves to this version. Throws `Invalid` for the first
 * such tag that is locked there or whose `reassign` is false. The caller must hold `lockTags`.
 */
export async function addTags(
  { tx, caller, scope, events }: Context,
  packageId: string,
  versionId: string,
  tags: readonly NewTag[],
): Promise<void> {
  const held = await tx
    .selectFrom('package_tag')
    .where('package_id', '=', packageId)
    .where(sql<boolean>`tag = any (${tags.map(({ tag }) => tag)})`)
    .select(['tag', 'version_id', 'locked'])
    .execute()
  const known = new Map<string, Change>(held.map(row => [row.tag, row]))
  const changes = new Map<string, Change>()
  for (const { tag, locked = false, reassign = true } of tags) {
    const before = known.get(tag)
    if (before && before.version_id !== versionId) {
      if (before.locked) throw new ActionError('Invalid', `The tag "${tag}" is locked on another version.`)
      if (!reassign)
        throw new ActionError('Invalid', `The tag "${tag}" is on another version and may not be reassigned.`)
    }
    if (before?.version_id === versionId && (before.locked || !locked)) continue
    const change = { tag, version_id: versionId, locked }
    known.set(tag, change)
    changes.set(tag, change)
  }
  if (changes.size === 0) return
  const changed = [...changes.values()]
  const moved = held.filter(({ tag, version_id }) => changes.has(tag) && version_id !== versionId)
  await tx
    .insertInto('package_tag')
    .values(changed.map(change => ({ package_id: packageId, ...change, version_id: versionId })))
    .onConflict(conflict =>
      conflict.columns(['package_id', 'tag']).doUpdateSet(({ ref }) => ({
        version_id: ref('excluded.version_id'),
        locked: ref('excluded.locked'),
      })),
    )
    .execute()
  await noteChanges({ tx, caller }, packageId, changed)
  await events.emit(
    'repositories_PackageVersionTagged',
    { repositoryId: scope.repositoryId!, versionId, tags: changed.map(({ tag }) => tag) },
    {
      old: {
        // Versions that lost a tag to this version, by tag.
        versions:
          moved.length > 0
            ? Object.fromEntries(moved.map(({ tag, version_id }) => [tag, version_id]))
            : undefined,
      },
    },
  )
}

/** Removes tags from a version, all or none. Throws `Invalid` for the first tag that is locked or that the version does not have. */
export async function removeTags(
  { tx, caller, scope, events }: Context,
  packageId: string,
  versionId: string,
  tags: readonly string[],
): Promise<void> {
  const removed = await tx
    .deleteFrom('package_tag')
    .where('version_id', '=', versionId)
    .where(sql<boolean>`tag = any (${tags})`)
    .returning(['tag', 'locked'])
    .execute()
  const held = new Map(removed.map(row => [row.tag, row]))
  for (const tag of tags) {
    const row = held.get(tag)
    if (!row) throw new ActionError('Invalid', `The version has no tag "${tag}".`, { status: 404 })
    if (row.locked) throw new ActionError('Invalid', `The tag "${tag}" is locked and cannot be removed.`)
  }
  if (removed.length === 0) return
  const changes = removed.map(({ tag }) => ({ tag, version_id: null, locked: false }))
  await noteChanges({ tx, caller }, packageId, changes)
  await events.emit('repositories_PackageVersionUntagged', {
    repositoryId: scope.repositoryId!,
    versionId,
    tags: removed.map(({ tag }) => tag),
  })
}

/** Removes all tags from a version that is about to be deleted. The caller must hold `lockTags`. */
export async function removeAllTags(
  { tx, caller }: Pick<Context, 'tx' | 'caller'>,
  packageId: string,
  versionId: string,
): Promise<void> {
  // Copies the rows in SQL: as parameters, many tags would exceed PostgreSQL's limit of 65,535 parameters.
  await sql`
    with removed as (delete from package_tag where version_id = ${versionId} returning tag)
    insert into package_tag_change (package_id, tag, version_id, locked, actor)
    select ${packageId}, tag, null, false, ${JSON.stringify(wireActor(caller))}::jsonb from removed`.execute(
    tx,
  )
}

/**
 * Throws `Invalid` when the version `versionId` has a locked tag or, without `versionId`, when any version of the package has one
 * (docs/api.md 4.6).
 */
export async function refuseWhileLocked(tx: Tx, packageId: string, versionId?: string): Promise<void> {
  let query = tx.selectFrom('package_tag').where('package_id', '=', packageId).where('locked', '=', true)
  if (versionId !== undefined) query = query.where('version_id', '=', versionId)
  const locked = await query.select('tag').orderBy('tag').limit(1).executeTakeFirst()
  if (!locked) return
  const what = versionId === undefined ? 'package' : 'version'
  throw new ActionError('Invalid', `The ${what} cannot be deleted: its tag "${locked.tag}" is locked.`)
}

async function noteChanges(
  { tx, caller }: Pick<Context, 'tx' | 'caller'>,
  packageId: string,
  changes: readonly Change[],
): Promise<void> {
  const actor = JSON.stringify(wireActor(caller))
  await tx
    .insertInto('package_tag_change')
    .values(changes.map(change => ({ package_id: packageId, ...change, actor })))
    .execute()
}
