import type { Said } from './entry.ts'
import type { SentenceRow } from './event-sentences.ts'

/**
 * Phrases for failed actions, by the name of the action. They follow "could not" and have the notation of `SentenceRow`. A test compares
 * the names with the registry of actions.
 */
export const ACTION_PHRASES: Record<string, SentenceRow> = {
  users_InitiateSession: {
    kind: 'signIn',
    say: ({ data }) => (data.email === undefined ? 'sign in' : 'sign in as [email]'),
  },
  users_Create: { kind: 'account', say: 'create the account [email]' },
  users_Delete: { kind: 'account', say: 'delete the account {userId}' },
  users_SetIsAdmin: { kind: 'account', say: 'change the administration of the instance by {userId}' },
  users_SetIsActive: {
    kind: 'account',
    say: ({ data }) => (data.isActive ? 'enable the account {userId}' : 'disable the account {userId}'),
  },
  users_SetDisplayName: { kind: 'account', say: 'change the display name of {userId}' },
  users_SetPassword: { kind: 'account', say: 'set the password of {userId}' },
  users_ChangePassword: { kind: 'account', say: 'change their password' },
  users_ResetPassword: { kind: 'account', say: 'ask for a link to set a password' },
  users_CompletePasswordReset: { kind: 'account', say: 'set a password with a mailed link' },
  users_Register: { kind: 'account', say: 'sign up as [email]' },
  users_ResendRegistrationEmail: { kind: 'account', say: 'ask for a link to activate an account' },
  users_CompleteRegistration: { kind: 'account', say: 'activate an account' },
  users_AcceptOrganizationInvitation: { kind: 'member', say: 'accept an invitation' },
  users_TerminateSession: { kind: 'signIn', say: 'end a session' },
  users_TerminateSessions: { kind: 'signIn', say: 'end the sessions of {userId}' },
  users_CreateToken: { kind: 'token', say: 'create the user token [name]' },
  users_DeleteToken: { kind: 'token', say: 'delete the user token {tokenId}' },
  organizations_Create: { kind: 'organization', say: 'create the organization [name]' },
  organizations_Delete: { kind: 'organization', say: 'delete the organization {organizationId}' },
  organizations_SetName: { kind: 'organization', say: renaming('organization', 'organizationId') },
  organizations_AddMember: { kind: 'member', say: 'add {userId} to {organizationId}' },
  organizations_SetMemberIsAdmin: { kind: 'member', say: 'change the role of {userId}' },
  organizations_RemoveMember: { kind: 'member', say: 'remove {userId} from {organizationId}' },
  organizations_InviteMember: { kind: 'member', say: 'invite [email]' },
  organizations_ResendInvitation: { kind: 'member', say: 'send the invitation {invitationId} again' },
  organizations_DeleteInvitation: { kind: 'member', say: 'withdraw the invitation {invitationId}' },
  projects_Create: { kind: 'project', say: 'create the project [name]' },
  projects_SetName: { kind: 'project', say: renaming('project', 'projectId') },
  projects_Delete: { kind: 'project', say: 'delete the project {projectId}' },
  projects_LinkRepository: { kind: 'repository', say: 'link the repository {repositoryId} to {projectId}' },
  projects_UnlinkRepository: {
    kind: 'repository',
    say: 'unlink the repository {repositoryId} from {projectId}',
  },
  projects_CreateDeploymentToken: { kind: 'token', say: 'create the token [name]' },
  projects_DeleteDeploymentToken: { kind: 'token', say: 'delete the token {tokenId}' },
  projects_SetDeploymentTokenFlags: { kind: 'token', say: 'change auto-accept of the token {tokenId}' },
  projects_SetDeploymentTokenLimits: { kind: 'token', say: 'change the limits of the token {tokenId}' },
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
  devices_Create: { kind: 'device', say: 'register a device in {projectId}' },
  devices_SetName: {
    kind: 'device',
    say: entry =>
      entry.data.name === undefined ? 'remove the name of {deviceId}' : renaming('device', 'deviceId')(entry),
  },
  devices_Delete: { kind: 'device', say: 'delete {deviceId}' },
  devices_AddCertificate: { kind: 'certificate', say: 'add a certificate to {deviceId}' },
  devices_SetCertificateStatus: {
    kind: 'certificate',
    say: ({ data }) => `${VERBS.get(data.status) ?? 'change'} the certificate of {deviceId}`,
  },
  devices_DeleteCertificate: { kind: 'certificate', say: 'delete the certificate of {deviceId}' },
  devices_SetProperty: { kind: 'property', say: 'set <name> of {deviceId}' },
  devices_RemoveProperty: { kind: 'property', say: 'remove <name> of {deviceId}' },
  devices_CreateBulkDecision: { kind: 'certificate', say: 'review certificates of {projectId}' },
  devices_CreateBulkDeletion: { kind: 'device', say: 'review devices of {projectId} to delete' },
  devices_StartBulkDecision: { kind: 'certificate', say: 'decide several certificates of {projectId}' },
  devices_StartBulkDeletion: { kind: 'device', say: 'delete several devices of {projectId}' },
  devices_CancelBulkAction: { kind: 'device', say: 'cancel a bulk action of {projectId}' },
  devices_PublishEvents: { kind: 'device', say: 'publish events of {deviceId}' },
  devices_IssueDeviceToken: { kind: 'token', say: 'issue a token for {deviceId}' },
  projects_SetPinnedProperties: { kind: 'project', say: 'change the pinned properties of {projectId}' },
  repositories_SetNames: { kind: 'repository', say: 'rename the repository {repositoryId} to [displayName]' },
  repositories_TestS3Config: { kind: 'repository', say: 'test a storage for the repository {repositoryId}' },
  cluster_StartRebalance: { kind: 'node', say: 'rebalance the nodes' },
  cluster_CancelRebalance: { kind: 'node', say: 'cancel the rebalancing of the nodes' },
  jobs_Retry: { kind: 'job', say: 'retry the job <jobId>' },
  devices_IssueHttpProxyToken: { kind: 'device', say: 'open the HTTP proxy of {deviceId}' },
}

const VERBS = new Map<unknown, string>([
  ['Active', 'accept'],
  ['Rejected', 'reject'],
  ['Revoked', 'revoke'],
])

/** Phrase for a new name. After a success the object is shown with its new name, so the phrase does not repeat it after "to". */
function renaming(noun: string, id: string) {
  return ({ status }: Said): string =>
    status === 'Succeeded' ? `name the ${noun} {${id}:name}` : `rename the ${noun} {${id}} to [name]`
}
