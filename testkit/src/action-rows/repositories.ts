import { newId, type repositories } from '@muster/actions'
import { assetRow } from '../rows.ts'
import { text, time, timeOf } from './list-items.ts'
import {
  anotherOrganization,
  newDigest,
  newName,
  newPackage,
  newPackageFile,
  newRepository,
  newVersion,
  newVersionFile,
} from './records.ts'
import { ACTORS, MEMBERS, READERS, REPOSITORY_READERS, type Rows } from './row.ts'

export const repositoryRows: Rows<typeof repositories> = {
  repositories_Create: {
    input: ({ organizationId }) => ({ organizationId, name: newName() }),
    may: MEMBERS,
  },
  repositories_GetDetails: {
    input: ({ repositoryId }) => ({ repositoryId }),
    may: REPOSITORY_READERS,
  },
  repositories_Delete: {
    input: async ({ hub, organizationId }) => ({ repositoryId: await newRepository(hub, organizationId) }),
    may: READERS,
  },
  repositories_SetVisibility: {
    input: async ({ hub, organizationId }) => ({
      repositoryId: await newRepository(hub, organizationId),
      visibility: 'Public',
    }),
    may: MEMBERS,
  },
  repositories_SetDisplayName: {
    input: ({ repositoryId }) => ({ repositoryId, displayName: 'Renamed' }),
    may: MEMBERS,
  },
  repositories_SetNames: {
    input: ({ repositoryId }) => ({ repositoryId, displayName: 'Renamed', slug: newName() }),
    may: MEMBERS,
  },
  repositories_GetFollowers: { input: ({ repositoryId }) => ({ repositoryId }), may: READERS },
  repositories_SetSlug: { input: ({ repositoryId }) => ({ repositoryId, slug: newName() }), may: MEMBERS },
  repositories_SetOrganization: {
    input: async world => ({
      repositoryId: await newRepository(world.hub, world.organizationId),
      organizationId: await anotherOrganization(world),
    }),
    may: ['instanceAdmin'],
  },
  repositories_QueryPackages: {
    input: ({ repositoryId }) => ({ repositoryId }),
    may: REPOSITORY_READERS,
    list: {
      items: 'packages',
      id: 'packageId',
      sorts: { name: text('name'), createdAt: time('createdAt'), latest: time('createdAt') },
      defaultSort: 'name',
      hasText: false, // Names are unique in a repository, so a text filter cannot be tested with equal names.
      add: async ({ hub, repositoryId }, _name, index) => {
        await hub.db
          .insertInto('package')
          .values({
            package_id: newId('pkg'),
            repository_id: repositoryId,
            name: `${index % 2 ? 'P' : 'p'}-${newId('pkg')}`,
            created_at: timeOf(index),
          })
          .execute()
      },
    },
  },
  repositories_QueryAssets: {
    input: ({ repositoryId }) => ({ repositoryId }),
    may: REPOSITORY_READERS,
    list: {
      items: 'assets',
      id: 'assetId',
      sorts: { createdAt: time('createdAt'), size: item => item.size as number },
      defaultSort: '-createdAt',
      hasText: false,
      add: async ({ hub, repositoryId }, _name, index) => {
        await assetRow(hub, repositoryId, {
          // The sizes cross 10, because they must be sorted as numbers and not as strings. Some exceed 32 bits.
          size: index % 3 ? 8 + index : 2 ** 40 + index,
          createdAt: timeOf(index),
        })
      },
    },
  },
  repositories_QueryLinkedProjects: {
    input: ({ repositoryId }) => ({ repositoryId }),
    may: READERS,
    list: {
      items: 'projects',
      id: 'projectId',
      sorts: { name: text('name') },
      defaultSort: 'name',
      hasText: true,
      add: async ({ hub, repositoryId, organizationId }) => {
        await hub.pool.query(
          `insert into project_repository (project_id, repository_id)
         select project_id, $1 from project where organization_id = $2 on conflict do nothing`,
          [repositoryId, organizationId],
        )
      },
    },
  },
  repositories_GetS3Config: { input: ({ repositoryId }) => ({ repositoryId }), may: READERS },
  repositories_SetS3Config: {
    input: async ({ hub, organizationId, s3 }) => ({
      repositoryId: await newRepository(hub, organizationId),
      s3Endpoint: s3.endpoint,
      s3Bucket: s3.bucket,
      s3AccessKeyId: s3.accessKeyId,
      s3SecretAccessKey: s3.secretAccessKey,
    }),
    may: MEMBERS,
  },
  repositories_TestS3Config: {
    input: ({ repositoryId, s3 }) => ({
      repositoryId,
      s3Endpoint: s3.endpoint,
      s3Bucket: s3.bucket,
      s3AccessKeyId: s3.accessKeyId,
      s3SecretAccessKey: s3.secretAccessKey,
    }),
    may: MEMBERS,
  },
  repositories_RemoveS3Config: {
    input: async ({ hub, organizationId }) => ({ repositoryId: await newRepository(hub, organizationId) }),
    may: MEMBERS,
    audited: async ({ hub, organizationId, s3 }, oneself) => {
      const repositoryId = await newRepository(hub, organizationId)
      await oneself.invoke('repositories_SetS3Config', { repositoryId, s3Config: s3 })
      return { repositoryId }
    },
  },
  repositories_ResolveName: { input: ({ repositoryId }) => ({ repository: repositoryId }), may: ACTORS },
  repositories_ResolvePackageByPath: {
    input: ({ repositoryId, packageId }) => ({ repository: repositoryId, package: packageId }),
    may: ACTORS,
  },
  repositories_ResolveVersionByPath: {
    input: ({ repositoryId, packageId, versionId }) => ({
      repository: repositoryId,
      package: packageId,
      tag: versionId,
    }),
    may: ACTORS,
  },
  repositories_ResolveVersionsByPath: {
    input: ({ repositoryId, packageId, versionId }) => ({
      paths: [{ repository: repositoryId, package: packageId, tag: versionId, withFiles: true }],
    }),
    may: ACTORS,
  },
  repositories_ResolveVersionAssetByPath: {
    input: ({ repositoryId, packageId, versionId }) => ({
      repository: repositoryId,
      package: packageId,
      tag: versionId,
      filename: 'file',
    }),
    may: ACTORS,
  },
  repositories_GetPackageDetails: { input: ({ packageId }) => ({ packageId }), may: REPOSITORY_READERS },
  repositories_CreatePackage: {
    input: ({ repositoryId }) => ({ repositoryId, name: newName(), kind: 'app', metadata: { a: 1 } }),
    may: MEMBERS,
  },
  repositories_DeletePackage: {
    input: async ({ hub, repositoryId }) => ({ packageId: await newPackage(hub, repositoryId) }),
    may: READERS,
  },
  repositories_SetPackageName: { input: ({ packageId }) => ({ packageId, name: newName() }), may: MEMBERS },
  repositories_SetPackageKind: { input: ({ packageId }) => ({ packageId, kind: 'image' }), may: MEMBERS },
  repositories_SetPackageMetadata: {
    input: ({ packageId }) => ({ packageId, metadata: { a: [1] } }),
    may: MEMBERS,
  },
  repositories_AddPackageAsset: {
    input: ({ packageId, assetId }) => ({ packageId, assetId, filename: newName() }),
    may: MEMBERS,
  },
  repositories_RemovePackageAsset: {
    input: async world => ({ packageId: world.packageId, filename: await newPackageFile(world) }),
    may: MEMBERS,
  },
  repositories_SetPackageAssetMetadata: {
    input: async world => ({
      packageId: world.packageId,
      filename: await newPackageFile(world),
      metadata: {},
    }),
    may: MEMBERS,
  },
  repositories_QueryPackageVersions: {
    input: ({ packageId }) => ({ packageId }),
    may: REPOSITORY_READERS,
    list: {
      items: 'versions',
      id: 'versionId',
      sorts: { createdAt: time('createdAt') },
      defaultSort: '-createdAt',
      hasText: true,
      add: async ({ hub, packageId }, name, index) => {
        await hub.db
          .insertInto('package_version')
          .values({ version_id: newId('pkg_v'), package_id: packageId, name, created_at: timeOf(index) })
          .execute()
      },
    },
  },
  repositories_GetVersionDetails: { input: ({ versionId }) => ({ versionId }), may: REPOSITORY_READERS },
  repositories_CreateVersion: {
    input: ({ packageId }) => ({ packageId, name: 'Summer', tags: [{ tag: newName(), locked: true }] }),
    may: MEMBERS,
  },
  repositories_DeleteVersion: {
    input: async ({ hub, packageId }) => ({ versionId: await newVersion(hub, packageId) }),
    may: READERS,
  },
  repositories_SetVersionName: { input: ({ versionId }) => ({ versionId, name: 'Summer' }), may: MEMBERS },
  repositories_SetVersionMetadata: {
    input: ({ versionId }) => ({ versionId, metadata: { a: [1] } }),
    may: MEMBERS,
  },
  repositories_TagVersion: {
    input: ({ versionId }) => ({ versionId, tags: [{ tag: 'stable' }] }),
    may: MEMBERS,
  },
  repositories_UntagVersion: {
    input: async ({ hub, packageId, versionId }) => {
      const tag = newName()
      await hub.db
        .insertInto('package_tag')
        .values({ package_id: packageId, version_id: versionId, tag })
        .execute()
      return { versionId, tags: [{ tag }] }
    },
    may: MEMBERS,
  },
  repositories_AddVersionAsset: {
    input: ({ versionId, assetId }) => ({ versionId, assetId, filename: newName() }),
    may: MEMBERS,
  },
  repositories_RemoveVersionAsset: {
    input: async world => ({ versionId: world.versionId, filename: await newVersionFile(world) }),
    may: MEMBERS,
  },
  repositories_SetVersionAssetMetadata: {
    input: async world => ({
      versionId: world.versionId,
      filename: await newVersionFile(world),
      metadata: {},
    }),
    may: MEMBERS,
  },
  repositories_GetAssetDetails: { input: ({ assetId }) => ({ assetId }), may: REPOSITORY_READERS },
  repositories_CreateAsset: {
    input: ({ repositoryId }) => ({ repositoryId, size: 7, digest: newDigest() }),
    may: MEMBERS,
  },
  repositories_DeleteAsset: {
    input: async ({ hub, repositoryId }) => ({ assetId: await assetRow(hub, repositoryId) }),
    may: READERS,
  },
  repositories_IssueAssetUploadUrl: { input: ({ assetId }) => ({ assetId }), may: MEMBERS },
  repositories_FinalizeAssetUpload: { input: ({ assetId }) => ({ assetId }), may: MEMBERS },
  repositories_IssueAssetDownloadUrl: {
    input: ({ assetId }) => ({ assetId, filename: 'image.bin' }),
    may: REPOSITORY_READERS,
  },
}
