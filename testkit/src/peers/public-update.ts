import { randomBytes } from 'node:crypto'
import { digestOf, putBytes } from '../blob-upload.ts'
import type { TestHub } from '../test-hub.ts'

/** An update that the published update scripts of both generations, 2025 and 2026, can install. */
export type PublicUpdate = {
  /** Path `repository/package/tag`, as configured on devices. */
  path: string
  /** Name of the system. File names begin with it. */
  system: string
  /** Version of the image. */
  version: string
  bundle: Buffer
}

/**
 * Publishes an update like the published release scripts (docs/protocol.md 9): a repository linked to the project, a package, a version
 * with files and their metadata, and a tag.
 */
export async function publicUpdate(
  hub: TestHub,
  { owner, organizationId, projectId }: Awaited<ReturnType<TestHub['fleet']>>,
  version = '2.0.0',
): Promise<PublicUpdate> {
  const system = 'demo-system'
  const name = `ota-${randomBytes(4).toString('hex')}`
  const repositoryId = await hub.repository(owner, organizationId, { name })
  await owner.invoke('projects_LinkRepository', { projectId, repositoryId })
  const packageId = await hub.package(owner, repositoryId, 'system')
  const { versionId } = await owner.invoke('repositories_CreateVersion', {
    packageId,
    tags: [{ tag: 'stable' }],
    metadata: { imageVersion: version },
  })
  const bundle = randomBytes(100_000)
  const bundleHash = digestOf(bundle, 'sha512-256').replace(/_(?=[0-9a-f]+$)/, ':')
  const files = {
    [`${system}.build-info.json`]: Buffer.from(JSON.stringify({ name: system, release: { version } })),
    [`${system}.rugixb-hash`]: Buffer.from(bundleHash),
    [`${system}.rugixb`]: bundle,
  }
  for (const [filename, bytes] of Object.entries(files)) {
    const size = bytes.length
    const digest = digestOf(bytes)
    const { assetId } = await owner.invoke('repositories_CreateAsset', { repositoryId, size, digest })
    const { url } = await owner.invoke('repositories_IssueAssetUploadUrl', { assetId })
    const { status } = await putBytes(url, bytes)
    if (status >= 300) throw new Error(`the upload of ${filename} was answered ${status}`)
    const metadata = bytes === bundle ? { rugix: { bundleHash } } : {}
    await owner.invoke('repositories_AddVersionAsset', { versionId, assetId, filename, metadata })
  }
  return { path: `${name}/system/stable`, system, version, bundle }
}
