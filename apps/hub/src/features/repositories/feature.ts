import { event } from '../../platform/audit/events.ts'
import type { Limit } from '../../platform/limits/limits.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import * as jobs from './jobs/index.ts'
import { owners } from './owners.ts'
import { download, fileByPath, upload } from './routes-blobs.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `repositories_Create`. */
  repositories_Created: event<{ repositoryId: string; organizationId: string }>({
    ids: ['repositoryId', 'organizationId'],
  }),
  /** Written by `repositories_Delete`. */
  repositories_Deleted: event<{ repositoryId: string; organizationId: string }>({
    ids: ['repositoryId', 'organizationId'],
  }),
  /** Written by `repositories_SetOrganization`. */
  repositories_OrganizationChanged: event<{
    repositoryId: string
    previousOrganizationId: string
    newOrganizationId: string
  }>({ ids: ['repositoryId', 'previousOrganizationId', 'newOrganizationId'] }),
  /** Written by `repositories_SetVisibility`. */
  repositories_VisibilityChanged: event<{ repositoryId: string; visibility: string }>({
    ids: ['repositoryId'],
  }),
  /** Written by `repositories_SetDisplayName`. */
  repositories_DisplayNameChanged: event<{ repositoryId: string; displayName: string }>({
    ids: ['repositoryId'],
  }),
  /** Written by `repositories_SetSlug`, with the slug as public name. */
  repositories_PublicNameChanged: event<{ repositoryId: string; publicName: string }>({
    ids: ['repositoryId'],
  }),
  /** Written by `repositories_SetS3Config`, `repositories_RemoveS3Config`. */
  repositories_S3ConfigChanged: event<{ repositoryId: string }>({ ids: ['repositoryId'] }),
  /** Written by `repositories_CreatePackage`. */
  repositories_PackageCreated: event<{ repositoryId: string; packageId: string; name: string }>({
    ids: ['repositoryId', 'packageId'],
  }),
  /** Written by `repositories_DeletePackage`. */
  repositories_PackageDeleted: event<{ repositoryId: string; packageId: string }>({
    ids: ['repositoryId', 'packageId'],
  }),
  /** Written by `repositories_SetPackageName`. */
  repositories_PackageNameChanged: event<{ repositoryId: string; packageId: string; name: string }>({
    ids: ['repositoryId', 'packageId'],
  }),
  /** Written by `repositories_SetPackageKind`. */
  repositories_PackageKindChanged: event<{ repositoryId: string; packageId: string; kind?: string }>({
    ids: ['repositoryId', 'packageId'],
  }),
  /** Written by `repositories_SetPackageMetadata`. */
  repositories_PackageMetadataChanged: event<{ repositoryId: string; packageId: string }>({
    ids: ['repositoryId', 'packageId'],
  }),
  /** Written by `repositories_AddPackageAsset`. */
  repositories_PackageAssetAdded: event<{
    repositoryId: string
    packageId: string
    assetId: string
    filename: string
  }>({ ids: ['repositoryId', 'packageId', 'assetId'] }),
  /** Written by `repositories_RemovePackageAsset`. */
  repositories_PackageAssetRemoved: event<{ repositoryId: string; packageId: string; filename: string }>({
    ids: ['repositoryId', 'packageId'],
  }),
  /** Written by `repositories_SetPackageAssetMetadata`. */
  repositories_PackageAssetMetadataChanged: event<{
    repositoryId: string
    packageId: string
    filename: string
  }>({ ids: ['repositoryId', 'packageId'] }),
  /** Written by `repositories_CreateVersion`. */
  repositories_PackageVersionCreated: event<{ repositoryId: string; packageId: string; versionId: string }>({
    ids: ['repositoryId', 'packageId', 'versionId'],
  }),
  /** Written by `repositories_DeleteVersion`. */
  repositories_PackageVersionDeleted: event<{ repositoryId: string; packageId: string; versionId: string }>({
    ids: ['repositoryId', 'packageId', 'versionId'],
  }),
  /** Written by `repositories_SetVersionName`. */
  repositories_PackageVersionNameChanged: event<{ repositoryId: string; versionId: string; name?: string }>({
    ids: ['repositoryId', 'versionId'],
  }),
  /** Written by `repositories_SetVersionMetadata`. */
  repositories_PackageVersionMetadataChanged: event<{ repositoryId: string; versionId: string }>({
    ids: ['repositoryId', 'versionId'],
  }),
  /** Written by `repositories_AddVersionAsset`. */
  repositories_PackageVersionAssetAdded: event<{
    repositoryId: string
    versionId: string
    assetId: string
    filename: string
  }>({ ids: ['repositoryId', 'versionId', 'assetId'] }),
  /** Written by `repositories_RemoveVersionAsset`. */
  repositories_PackageVersionAssetRemoved: event<{
    repositoryId: string
    versionId: string
    filename: string
  }>({ ids: ['repositoryId', 'versionId'] }),
  /** Written by `repositories_SetVersionAssetMetadata`. */
  repositories_PackageVersionAssetMetadataChanged: event<{
    repositoryId: string
    versionId: string
    filename: string
  }>({ ids: ['repositoryId', 'versionId'] }),
  /** Written by `repositories_CreateVersion` and `repositories_TagVersion`, with the tags that changed. */
  repositories_PackageVersionTagged: event<{ repositoryId: string; versionId: string; tags: string[] }>({
    ids: ['repositoryId', 'versionId'],
  }),
  /** Written by `repositories_UntagVersion`, with the tags that changed. */
  repositories_PackageVersionUntagged: event<{ repositoryId: string; versionId: string; tags: string[] }>({
    ids: ['repositoryId', 'versionId'],
  }),
  /** Written by `repositories_CreateAsset`. */
  repositories_AssetCreated: event<{ repositoryId: string; assetId: string }>({
    ids: ['repositoryId', 'assetId'],
  }),
  /** Written by `repositories_FinalizeAssetUpload`, and by an upload through the hub. */
  repositories_AssetAvailable: event<{ repositoryId: string; assetId: string }>({
    ids: ['repositoryId', 'assetId'],
  }),
  /** Written by `repositories_DeleteAsset`, and by the job that removes abandoned uploads. */
  repositories_AssetDeleted: event<{ repositoryId: string; assetId: string }>({
    ids: ['repositoryId', 'assetId'],
  }),
}

/** Limits of this feature. `npm run gen` writes them into docs/operating.md. */
const limits = {
  'organization-repositories': {
    scope: 'organization',
    unit: 'repositories',
    default: 2_000,
    max: 1_000_000,
    meaning: 'Repositories of an organization, those that are moved to it included.',
  },
  'repository-packages': {
    scope: 'repository',
    unit: 'packages',
    default: 10_000,
    max: 10_000_000,
    meaning: 'Packages of a repository.',
  },
  'package-versions': {
    scope: 'package',
    unit: 'versions',
    default: 100_000,
    max: 10_000_000,
    meaning: 'Versions of a package.',
  },
  'repository-waiting-blobs': {
    scope: 'repository',
    unit: 'blobs',
    default: 10_000,
    max: 1_000_000,
    meaning:
      'Blobs of a repository that are registered and not uploaded yet. A day after their registration the hub deletes them.',
  },
} satisfies Record<string, Limit>

declare module '../../platform/limits/limits.ts' {
  interface FeatureLimits extends Record<keyof typeof limits, Limit> {}
}

/** Repositories with their packages, versions and files. */
export const repositories = defineFeature({
  actions,
  events,
  jobs,
  limits,
  owners,
  routes: {
    'GET /api/v1/blobs/:assetId': download,
    'PUT /api/v1/blobs/:assetId': upload,
    'GET /api/v1/repositories/:repository/:package/:tag/assets/*': fileByPath,
  },
})
