import type { ActionInput, ActionName } from '@muster/actions'
import { assetRow, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

/** Number of packages of the large repository. The repository has the same number of blobs. */
const PACKAGES = 10_000
/** Number of versions of one package of the large repository. */
const VERSIONS = 10_000
/** Number of files of one version in the large repository. */
const FILES = 1_000
const CALLS = 20
const MAX_P95_MS = 200

let hub: TestHub
let owner: TestUser
let ids: { repositoryId: string; packageId: string; versionId: string }

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  const repositoryId = await hub.repository(owner, await hub.organization(owner), { name: 'large' })
  const packageId = await hub.package(owner, repositoryId, 'main')
  const versionId = await hub.version(owner, packageId, 'stable')
  const assetId = await assetRow(hub, repositoryId)
  ids = { repositoryId, packageId, versionId }
  for (const [text, values] of [
    [
      `insert into package (package_id, repository_id, name, created_at)
       select 'pkg_' || translate(lpad(n::text, 22, 'x'), '0', 'o'), $1, 'package-' || n, now() - n * interval '1 s'
         from generate_series(1, ${PACKAGES}) n`,
      [repositoryId],
    ],
    [
      `insert into asset (asset_id, repository_id, size_bytes, digest, status, created_at)
       select 'repo_a_' || translate(lpad(n::text, 22, 'x'), '0', 'o'), $1, n, 'sha256_' || lpad(n::text, 64, '0'),
              'Available', now() - n * interval '1 s'
         from generate_series(1, ${PACKAGES}) n`,
      [repositoryId],
    ],
    [
      `insert into package_version (version_id, package_id, created_at)
       select 'pkg_v_' || translate(lpad(n::text, 22, 'x'), '0', 'o'), $1, now() - n * interval '1 s'
         from generate_series(1, ${VERSIONS}) n`,
      [packageId],
    ],
    [
      `insert into package_tag (package_id, tag, version_id, locked)
       select $1, kind || '-' || v.version_id, v.version_id, kind = 'v'
         from package_version v, unnest(array['v', 'build']) kind where v.package_id = $1`,
      [packageId],
    ],
    [
      `insert into version_asset (version_id, filename, asset_id, metadata)
       select $1, 'folder/file-' || n, $2, '{"architecture": "arm64"}' from generate_series(1, ${FILES}) n`,
      [versionId, assetId],
    ],
  ] as const)
    await hub.pool.query(text, [...values])
  await hub.pool.query('analyze')
})
afterAll(() => hub[Symbol.asyncDispose]())

const page = { limit: 50 }
const CASES: [what: string, name: ActionName, input: () => object][] = [
  ['details of the repository', 'repositories_GetDetails', () => ids],
  ['a page of packages', 'repositories_QueryPackages', () => ({ ...ids, ...page })],
  ['packages by time', 'repositories_QueryPackages', () => ({ ...ids, ...page, sort: '-createdAt' })],
  [
    'packages by a part of a name',
    'repositories_QueryPackages',
    () => ({ ...ids, ...page, filter: { text: '999' } }),
  ],
  ['a page of blobs', 'repositories_QueryAssets', () => ({ ...ids, ...page })],
  ['blobs by size', 'repositories_QueryAssets', () => ({ ...ids, ...page, sort: '-size' })],
  ['details of the package', 'repositories_GetPackageDetails', () => ids],
  ['a page of versions', 'repositories_QueryPackageVersions', () => ({ ...ids, ...page })],
  [
    'versions by a part of a tag',
    'repositories_QueryPackageVersions',
    () => ({ ...ids, ...page, filter: { text: 'x77' } }),
  ],
  ['a version with all its files', 'repositories_GetVersionDetails', () => ids],
  [
    'a file by its path',
    'repositories_ResolveVersionAssetByPath',
    () => ({ repository: 'large', package: 'main', tag: 'stable', filename: 'folder/file-500' }),
  ],
]

it.each(CASES)('answers %s of a large repository in time', async (_what, name, input) => {
  const tookMs: number[] = []
  for (let call = 0; call < CALLS; call++) {
    const start = performance.now()
    await owner.invoke(name, input() as ActionInput<typeof name> as never)
    tookMs.push(performance.now() - start)
  }
  const [p95] = tookMs.toSorted((one, two) => two - one).slice(Math.floor(CALLS * 0.05))
  expect(p95).toBeLessThan(MAX_P95_MS)
})

it('lists every version once over all pages, with its tags', async () => {
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    const answer = await owner.invoke('repositories_QueryPackageVersions', { ...ids, limit: 500, cursor })
    for (const { versionId, tags } of answer.versions) {
      expect(tags.length).toBeGreaterThan(1)
      seen.add(versionId)
    }
    cursor = answer.nextCursor
  } while (cursor !== undefined)
  expect(seen.size).toBe(VERSIONS + 1)
})
