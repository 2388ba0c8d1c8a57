import { newId } from '@muster/actions'
import { auditEvents, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let repositoryId: string
let packageId: string
let packages = 0

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  repositoryId = await hub.repository(owner, await hub.organization(owner))
})
beforeEach(async () => {
  packageId = await hub.package(owner, repositoryId, `package-${packages++}`)
})
afterAll(() => hub[Symbol.asyncDispose]())

type NewTag = { tag: string; locked?: boolean; reassign?: boolean }

const create = (...tags: NewTag[]) => owner.invoke('repositories_CreateVersion', { packageId, tags })
const version = async (...tags: NewTag[]): Promise<string> => (await create(...tags)).versionId
const tag = (versionId: string, ...tags: NewTag[]) =>
  owner.invoke('repositories_TagVersion', { versionId, tags })
const untag = (versionId: string, ...tags: string[]) =>
  owner.invoke('repositories_UntagVersion', { versionId, tags: tags.map(one => ({ tag: one })) })

/** Tags of a version. An unlocked tag is returned as `tag`, a locked tag as `tag!`. */
async function tagsOf(versionId: string): Promise<string[]> {
  const { tags } = await owner.invoke('repositories_GetVersionDetails', { versionId })
  return tags.map(one => `${one.tag}${one.locked ? '!' : ''}`)
}

const invalid = (message: string, status = 400) => ({ kind: 'Invalid', status, message })

describe('tagging', () => {
  it('adds tags, and changes nothing when repeated', async () => {
    const versionId = await version({ tag: 'v1' })
    expect(await tag(versionId, { tag: 'stable' }, { tag: 'v1', reassign: false })).toEqual({})
    const events = (await auditEvents(hub, 'repositories_PackageVersionTagged')).length
    expect(await tag(versionId, { tag: 'stable', reassign: false }, { tag: 'v1' })).toEqual({})
    expect(await tagsOf(versionId)).toEqual(['stable', 'v1'])
    expect(await auditEvents(hub, 'repositories_PackageVersionTagged')).toHaveLength(events)
  })

  it('moves a tag from another version unless `reassign` is false', async () => {
    const [one, two] = [await version({ tag: 'stable' }), await version()]
    await expect(tag(two, { tag: 'stable', reassign: false })).rejects.toMatchObject(
      invalid('The tag "stable" is on another version and may not be reassigned.'),
    )
    expect(await tagsOf(one)).toEqual(['stable'])
    await tag(two, { tag: 'stable' })
    expect([await tagsOf(one), await tagsOf(two)]).toEqual([[], ['stable']])
    await tag(one, { tag: 'stable', reassign: true })
    expect([await tagsOf(one), await tagsOf(two)]).toEqual([['stable'], []])
  })

  it('locks an existing tag, which cannot be unlocked', async () => {
    const versionId = await version({ tag: 'v1' })
    await tag(versionId, { tag: 'v1', locked: true })
    expect(await tagsOf(versionId)).toEqual(['v1!'])
    await tag(versionId, { tag: 'v1', locked: false })
    expect(await tagsOf(versionId)).toEqual(['v1!'])
  })

  it.each([true, false])('never moves a locked tag, with reassign %j', async reassign => {
    const [one, two] = [await version({ tag: 'v1', locked: true }), await version()]
    await expect(tag(two, { tag: 'v1', reassign })).rejects.toMatchObject(
      invalid('The tag "v1" is locked on another version.'),
    )
    await expect(create({ tag: 'v1', reassign })).rejects.toMatchObject(
      invalid('The tag "v1" is locked on another version.'),
    )
    expect(await tagsOf(one)).toEqual(['v1!'])
  })

  it('sets all tags of a request or none', async () => {
    const [one, two] = [await version({ tag: 'v1', locked: true }, { tag: 'stable' }), await version()]
    await expect(tag(two, { tag: 'new' }, { tag: 'stable' }, { tag: 'v1' })).rejects.toMatchObject({
      kind: 'Invalid',
    })
    expect([await tagsOf(one), await tagsOf(two)]).toEqual([['stable', 'v1!'], []])
  })

  it('creates no version when a tag of it is refused', async () => {
    await version({ tag: 'v1', locked: true })
    await expect(create({ tag: 'v2' }, { tag: 'v1' })).rejects.toMatchObject({ kind: 'Invalid' })
    const { versionCount } = await owner.invoke('repositories_GetPackageDetails', { packageId })
    expect(versionCount).toBe(1)
    const path = { repository: repositoryId, package: packageId, tag: 'v2' }
    expect(await owner.invoke('repositories_ResolveVersionByPath', path)).toEqual({ result: 'NotFound' })
  })

  it('merges equal tags of a request, locked if one of them is', async () => {
    const versionId = await version({ tag: 'v1', locked: true }, { tag: 'v1' }, { tag: 'v2' }, { tag: 'v2' })
    expect(await tagsOf(versionId)).toEqual(['v1!', 'v2'])
  })

  it('sets tags separately in each package', async () => {
    const one = await version({ tag: 'stable', locked: true })
    packageId = await hub.package(owner, repositoryId, `package-${packages++}`)
    const two = await version({ tag: 'stable' })
    expect([await tagsOf(one), await tagsOf(two)]).toEqual([['stable!'], ['stable']])
  })

  it.each(['_a', '-a', '.', 'a/b', 'a b', 'ä', 'a\0', '<b>', 'x'.repeat(129), newId('pkg_v')])(
    'refuses the tag %j',
    async name => {
      const versionId = await version()
      await expect(tag(versionId, { tag: name })).rejects.toMatchObject({ issues: [{ path: 'tags.0.tag' }] })
      await expect(create({ tag: name })).rejects.toMatchObject({ kind: 'Invalid' })
    },
  )

  it('accepts up to 100 tags of 128 characters in a call', async () => {
    const tags = Array.from({ length: 101 }, (_, at) => ({ tag: String(at).padStart(128, 'x') }))
    const versionId = await version()
    expect(await tag(versionId, ...tags.slice(1))).toEqual({})
    expect(await tagsOf(versionId)).toHaveLength(100)
    await expect(tag(versionId, ...tags)).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it('records each move of a tag with its actor', async () => {
    const [one, two] = [await version({ tag: 'stable' }), await version()]
    await tag(two, { tag: 'stable', locked: false })
    await untag(two, 'stable')
    await tag(one, { tag: 'stable' })
    await owner.invoke('repositories_DeleteVersion', { versionId: one })
    const rows = await hub.db
      .selectFrom('package_tag_change')
      .where('package_id', '=', packageId)
      .select(['tag', 'version_id', 'actor'])
      .orderBy('changed_at')
      .execute()
    expect(rows.map(row => row.version_id)).toEqual([one, two, null, one, null])
    for (const row of rows)
      expect(row).toMatchObject({ tag: 'stable', actor: { actor: 'User', userId: owner.userId } })
  })
})

describe('untagging', () => {
  it('removes tags, all or none', async () => {
    const versionId = await version({ tag: 'a' }, { tag: 'b' }, { tag: 'c', locked: true })
    await expect(untag(versionId, 'a', 'c')).rejects.toMatchObject(
      invalid('The tag "c" is locked and cannot be removed.'),
    )
    await expect(untag(versionId, 'a', 'none')).rejects.toMatchObject(
      invalid('The version has no tag "none".', 404),
    )
    expect(await tagsOf(versionId)).toEqual(['a', 'b', 'c!'])
    expect(await untag(versionId, 'a', 'b')).toEqual({})
    expect(await tagsOf(versionId)).toEqual(['c!'])
  })

  it('refuses to remove a tag that was moved to another version', async () => {
    const [one, two] = [await version({ tag: 'stable' }), await version()]
    await tag(two, { tag: 'stable' })
    await expect(untag(one, 'stable')).rejects.toMatchObject({ kind: 'Invalid' })
    expect(await tagsOf(two)).toEqual(['stable'])
  })
})

describe('locked tag', () => {
  it('prevents the deletion of its version and its package', async () => {
    const versionId = await version({ tag: 'v1', locked: true }, { tag: 'stable' })
    await expect(owner.invoke('repositories_DeleteVersion', { versionId })).rejects.toMatchObject(
      invalid('The version cannot be deleted: its tag "v1" is locked.'),
    )
    await expect(owner.invoke('repositories_DeletePackage', { packageId })).rejects.toMatchObject(
      invalid('The package cannot be deleted: its tag "v1" is locked.'),
    )
    expect(await tagsOf(versionId)).toEqual(['stable', 'v1!'])
  })

  it('does not prevent the deletion of other versions', async () => {
    await version({ tag: 'v1', locked: true })
    const versionId = await version({ tag: 'v2' })
    expect(await owner.invoke('repositories_DeleteVersion', { versionId })).toEqual({})
  })
})

describe('concurrent releases', () => {
  it('lock a tag on one version only', async () => {
    const versions = await Promise.all(Array.from({ length: 12 }, () => version()))
    const answers = await Promise.allSettled(versions.map(one => tag(one, { tag: 'v1', locked: true })))
    const losers = answers.filter(answer => answer.status === 'rejected')
    expect(losers).toHaveLength(11)
    for (const { reason } of losers)
      expect(reason).toMatchObject(invalid('The tag "v1" is locked on another version.'))
    const winner = versions[answers.findIndex(({ status }) => status === 'fulfilled')]!
    expect(await tagsOf(winner)).toEqual(['v1!'])
  })

  it('create one version when each refuses to reassign the tag', async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: 12 }, () => create({ tag: 'v1', reassign: false })),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ kind: 'Invalid' })
    const { versions } = await owner.invoke('repositories_QueryPackageVersions', { packageId })
    expect(versions).toHaveLength(1)
  })

  it('all succeed in moving tags, and leave each tag on one version', async () => {
    const versions = await Promise.all(Array.from({ length: 6 }, () => version()))
    const tags = ['a', 'b', 'c', 'd']
    await Promise.all(
      versions.flatMap(one => [
        tag(one, ...tags.map(name => ({ tag: name }))),
        tag(one, ...tags.toReversed().map(name => ({ tag: name }))),
      ]),
    )
    const held = await Promise.all(versions.map(tagsOf))
    expect(held.flat().sort()).toEqual(tags)
  })

  it('either lock a tag or delete its version, never both', async () => {
    for (let round = 0; round < 8; round++) {
      const versionId = await version({ tag: `r${round}` })
      const [locks, deletes] = await Promise.allSettled([
        tag(versionId, { tag: `r${round}`, locked: true }),
        owner.invoke('repositories_DeleteVersion', { versionId }),
      ])
      expect([locks.status, deletes.status].sort()).toEqual(['fulfilled', 'rejected'])
      if (deletes.status === 'rejected') expect(deletes.reason).toMatchObject({ kind: 'Invalid' })
      if (locks.status === 'rejected') expect(locks.reason).toMatchObject({ kind: 'Forbidden' })
    }
  })
})

it('deletes a version with more tags than a statement can have parameters, and records each', async () => {
  const count = 14_000
  const versionId = await version()
  await hub.pool.query(
    `insert into package_tag (package_id, tag, version_id) select $1, 'nightly-' || n, $2 from generate_series(1, ${count}) n`,
    [packageId, versionId],
  )
  expect(await owner.invoke('repositories_DeleteVersion', { versionId })).toEqual({})
  const { rows } = await hub.pool.query(
    `select count(*), count(distinct tag) as tags from package_tag_change
      where package_id = $1 and version_id is null and actor->>'userId' = $2`,
    [packageId, owner.userId],
  )
  expect(rows).toEqual([{ count, tags: count }])
})
