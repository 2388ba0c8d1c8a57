import { formerName, renamed, renaming } from '../audit/shared/phrases.ts'
import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of repositories. */
export const repositoryEvents = {
  repositories_Created: { kind: 'repository', say: 'created the repository {repositoryId}' },
  repositories_Deleted: {
    kind: 'repository',
    say: entry => `deleted the repository ${formerName(entry, 'repositoryId')}`,
  },
  repositories_OrganizationChanged: {
    kind: 'repository',
    say: 'moved the repository {repositoryId} to {newOrganizationId}',
  },
  repositories_VisibilityChanged: {
    kind: 'repository',
    say: ({ data }) =>
      data.visibility === 'Public'
        ? 'made the repository {repositoryId} public'
        : 'made the repository {repositoryId} private',
  },
  repositories_DisplayNameChanged: {
    kind: 'repository',
    say: ({ old }) =>
      `renamed the repository ${old?.displayName === undefined ? '{repositoryId}' : '[old.displayName]'} to [displayName]`,
  },
  repositories_PublicNameChanged: {
    kind: 'repository',
    say: ({ old }) =>
      old?.publicName === undefined
        ? 'set the slug of {repositoryId} to <publicName>'
        : 'changed the slug of {repositoryId} from <old.publicName> to <publicName>',
  },
  repositories_S3ConfigChanged: {
    kind: 'repository',
    say: 'changed the storage of the repository {repositoryId}',
  },
  repositories_PackageCreated: { kind: 'repository', say: 'created the package [name] in {repositoryId}' },
  repositories_PackageDeleted: {
    kind: 'repository',
    say: entry => `deleted the package ${formerName(entry, 'packageId')} of {repositoryId}`,
  },
  repositories_PackageNameChanged: {
    kind: 'repository',
    say: entry => `renamed the package ${renamed(entry)}`,
  },
  repositories_PackageKindChanged: {
    kind: 'repository',
    say: ({ data, old }) => {
      if (data.kind === undefined) return 'cleared the kind of the package {packageId}'
      return old?.kind === undefined
        ? 'set the kind of the package {packageId} to <kind>'
        : 'changed the kind of the package {packageId} from <old.kind> to <kind>'
    },
  },
  repositories_PackageMetadataChanged: {
    kind: 'repository',
    say: 'changed the metadata of the package {packageId}',
  },
  repositories_PackageAssetAdded: {
    kind: 'repository',
    say: 'added the file <filename> to the package {packageId}',
  },
  repositories_PackageAssetRemoved: {
    kind: 'repository',
    say: 'removed the file <filename> from the package {packageId}',
  },
  repositories_PackageAssetMetadataChanged: {
    kind: 'repository',
    say: 'changed the metadata of the file <filename> of the package {packageId}',
  },
  repositories_PackageVersionCreated: { kind: 'repository', say: 'created the version {versionId}' },
  repositories_PackageVersionDeleted: {
    kind: 'repository',
    say: ({ old }) =>
      old?.name === undefined
        ? 'deleted the version {versionId} of {packageId}'
        : 'deleted the version [old.name] of {packageId}',
  },
  repositories_PackageVersionNameChanged: {
    kind: 'repository',
    say: ({ data, old }) => {
      if (data.name === undefined)
        return `removed the name ${old?.name === undefined ? '' : '[old.name] '}of the version {versionId}`
      return old?.name === undefined
        ? 'named the version {versionId} [name]'
        : 'renamed the version [old.name] to {versionId:name}'
    },
  },
  repositories_PackageVersionMetadataChanged: {
    kind: 'repository',
    say: 'changed the metadata of the version {versionId}',
  },
  repositories_PackageVersionAssetAdded: {
    kind: 'repository',
    say: 'added the file <filename> to the version {versionId}',
  },
  repositories_PackageVersionAssetRemoved: {
    kind: 'repository',
    say: 'removed the file <filename> from the version {versionId}',
  },
  repositories_PackageVersionAssetMetadataChanged: {
    kind: 'repository',
    say: 'changed the metadata of the file <filename> of the version {versionId}',
  },
  repositories_PackageVersionTagged: {
    kind: 'repository',
    say: 'tagged the version {versionId} with <tags>',
  },
  repositories_PackageVersionUntagged: {
    kind: 'repository',
    say: 'removed the tags <tags> from the version {versionId}',
  },
  repositories_AssetCreated: { kind: 'repository', say: 'registered a file in {repositoryId}' },
  repositories_AssetAvailable: { kind: 'repository', say: 'received the file {assetId} in {repositoryId}' },
  repositories_AssetDeleted: { kind: 'repository', say: 'deleted the file {assetId} of {repositoryId}' },
} as const satisfies EventSentences<'repositories'>

/** Phrases for the logged actions on repositories. */
export const repositoryActions = {
  repositories_Create: {
    kind: 'repository',
    say: ({ data }) => (data.name === undefined ? 'create a repository' : 'create the repository [name]'),
  },
  repositories_Delete: { kind: 'repository', say: 'delete the repository {repositoryId}' },
  repositories_SetVisibility: { kind: 'repository', say: 'change the visibility of {repositoryId}' },
  repositories_SetDisplayName: { kind: 'repository', say: 'rename the repository {repositoryId}' },
  repositories_SetSlug: { kind: 'repository', say: 'set the slug of {repositoryId} to <slug>' },
  repositories_SetOrganization: {
    kind: 'repository',
    say: 'move the repository {repositoryId} to {organizationId}',
  },
  repositories_SetS3Config: {
    kind: 'repository',
    say: 'change the storage of the repository {repositoryId}',
  },
  repositories_RemoveS3Config: { kind: 'repository', say: 'remove the object storage of {repositoryId}' },
  repositories_CreatePackage: { kind: 'repository', say: 'create the package [name] in {repositoryId}' },
  repositories_DeletePackage: { kind: 'repository', say: 'delete the package {packageId}' },
  repositories_SetPackageName: { kind: 'repository', say: renaming('package', 'packageId') },
  repositories_SetPackageKind: { kind: 'repository', say: 'set the kind of the package {packageId}' },
  repositories_SetPackageMetadata: {
    kind: 'repository',
    say: 'change the metadata of the package {packageId}',
  },
  repositories_AddPackageAsset: {
    kind: 'repository',
    say: 'add the file <filename> to the package {packageId}',
  },
  repositories_RemovePackageAsset: {
    kind: 'repository',
    say: 'remove the file <filename> from the package {packageId}',
  },
  repositories_SetPackageAssetMetadata: {
    kind: 'repository',
    say: 'change the metadata of the file <filename> of the package {packageId}',
  },
  repositories_CreateVersion: { kind: 'repository', say: 'create a version of the package {packageId}' },
  repositories_DeleteVersion: { kind: 'repository', say: 'delete the version {versionId}' },
  repositories_SetVersionName: { kind: 'repository', say: 'name the version {versionId}' },
  repositories_SetVersionMetadata: {
    kind: 'repository',
    say: 'change the metadata of the version {versionId}',
  },
  repositories_TagVersion: { kind: 'repository', say: 'tag the version {versionId}' },
  repositories_UntagVersion: { kind: 'repository', say: 'remove tags from the version {versionId}' },
  repositories_AddVersionAsset: {
    kind: 'repository',
    say: 'add the file <filename> to the version {versionId}',
  },
  repositories_RemoveVersionAsset: {
    kind: 'repository',
    say: 'remove the file <filename> from the version {versionId}',
  },
  repositories_SetVersionAssetMetadata: {
    kind: 'repository',
    say: 'change the metadata of the file <filename> of the version {versionId}',
  },
  repositories_CreateAsset: { kind: 'repository', say: 'register a file in {repositoryId}' },
  repositories_DeleteAsset: { kind: 'repository', say: 'delete the file {assetId}' },
  repositories_IssueAssetUploadUrl: { kind: 'repository', say: 'upload the file {assetId}' },
  repositories_FinalizeAssetUpload: { kind: 'repository', say: 'finish the upload of the file {assetId}' },
  repositories_IssueAssetDownloadUrl: { kind: 'repository', say: 'download the file {assetId}' },
  repositories_SetNames: { kind: 'repository', say: 'rename the repository {repositoryId} to [displayName]' },
  repositories_TestS3Config: { kind: 'repository', say: 'test a storage for the repository {repositoryId}' },
} as const satisfies ActionPhrases<'repositories'>
