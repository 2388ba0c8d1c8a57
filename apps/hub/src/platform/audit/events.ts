import { newDatedId } from '@muster/actions'
import { sql } from 'kysely'
import type { TokenLimits } from '../../features/projects/token-limits.ts'
import type { Scope } from '../access/scope.ts'
import type { Tx } from '../database/client/connection.ts'
import type { LimitSubject } from '../limits/limits.ts'
import { actorId, type Caller, wireActor } from '../pipeline/caller.ts'
import { type Origin, originColumns, storedValues } from './facts.ts'

/** Flags of a deployment token. `ownCertificate` is present only where it is on. */
type TokenFlags = { autoAccept: boolean; ownCertificate?: boolean }

/** Declaration of an audit event: the fields of its data that hold ids. `data` exists for the types only. */
type EventDeclaration<Data> = { ids: readonly (keyof Data & string)[]; data?: Data }

/** Fields of the data of an event that can hold an id. */
type IdField<Data> = {
  [Key in keyof Data & string]-?: Data[Key] extends string | undefined ? Key : never
}[keyof Data & string]

/**
 * Declares an audit event with the shape of its data. `ids` names the fields that hold the id of an object, as the hub knows it. Logs show
 * the names of these objects only. Another field may hold a text that a caller typed, and nothing shows whose id it looks like.
 */
function event<Data extends object>(declaration: { ids: readonly IdField<Data>[] }): EventDeclaration<Data> {
  return declaration
}

/** Every kind of audit event. `npm run gen` copies the docstrings into docs/api.md 5. */
export const auditEvents = {
  /** Written by `users_Create`, `users_CompleteRegistration` and `muster-hub admin create`, and at the first start of an instance. */
  users_Created: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_Delete`. */
  users_Deleted: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by `users_SetIsAdmin`. */
  users_SetIsAdmin: event<{ userId: string; isAdmin: boolean }>({ ids: ['userId'] }),
  /** Written by `users_SetIsActive` and `muster-hub admin disable`. */
  users_SetIsActive: event<{ userId: string; isActive: boolean }>({ ids: ['userId'] }),
  /** Written by `users_SetPassword`, `users_ChangePassword` and `muster-hub admin reset-password`. */
  users_SetPassword: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by `users_SetDisplayName`. */
  users_DisplayNameChanged: event<{ userId: string; displayName: string }>({ ids: ['userId'] }),
  /** Written by `users_CreateToken`. */
  users_TokenCreated: event<{ userId: string; tokenId: string; name?: string; expiresAt?: string }>({
    ids: ['userId', 'tokenId'],
  }),
  /** Written by `users_DeleteToken`, and for each token that ends because a password was set or an account was disabled. */
  users_TokenDeleted: event<{ userId: string; tokenId: string; name?: string }>({
    ids: ['userId', 'tokenId'],
  }),
  /** Written by `users_Register`. */
  users_RegistrationCreated: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by the job that mails an activation link. */
  users_RegistrationEmailSent: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_CompleteRegistration`. */
  users_RegistrationCompleted: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by the job that deletes accounts which were not activated in time. */
  users_RegistrationExpired: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_ResetPassword`. */
  users_PasswordResetRequested: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by the job that mails a link to set a password. */
  users_PasswordResetEmailSent: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by the job that informs the owner of an account about a new password. */
  users_PasswordChangedEmailSent: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_CompletePasswordReset`. */
  users_PasswordResetCompleted: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by the hub when a person signs in. */
  users_SessionInitiated: event<{ userId: string; sessionId: string }>({ ids: ['userId', 'sessionId'] }),
  /** Written by `users_TerminateSession`, `users_TerminateSessions`, a sign-out, and when an account is disabled. */
  users_SessionTerminated: event<{ userId: string; sessionId: string }>({ ids: ['userId', 'sessionId'] }),
  /** Written by `jobs_Retry`. */
  jobs_Retried: event<{ jobId: string; job: string }>({ ids: ['jobId'] }),
  /** Written by `cluster_StartRebalance` and `muster-hub rebalance`. */
  cluster_RebalanceStarted: event<{ nodeIds: string[]; deviceCount: number }>({ ids: [] }),
  /** Written by `cluster_CancelRebalance` and `muster-hub rebalance --cancel`. */
  cluster_RebalanceCancelled: event<{ nodeIds: string[] }>({ ids: [] }),
  /** Written by `muster-hub backup`. */
  instance_BackedUp: event<{ sizeBytes: number; isVerified: boolean; hasBlobs: boolean; hasKey: boolean }>({
    ids: [],
  }),
  /** Written by `muster-hub restore`. `backedUpAt` is the time of the backup. */
  instance_Restored: event<{
    backedUpAt: string
    sessionCount: number
    jobIds: string[]
    bulkActionIds: string[]
  }>({ ids: [] }),
  /** Written by `muster-hub database move`. `to` is the new address without a password. */
  instance_DatabaseMoved: event<{ to: string }>({ ids: [] }),
  /** Written by `organizations_Create`, for each new account, and at the first start of an instance or of its demo fleet. */
  organizations_Created: event<{ organizationId: string }>({ ids: ['organizationId'] }),
  /** Written by `organizations_Delete`. */
  organizations_Deleted: event<{ organizationId: string }>({ ids: ['organizationId'] }),
  /** Written by `organizations_SetName`. */
  organizations_NameChanged: event<{ organizationId: string; name: string }>({ ids: ['organizationId'] }),
  /** Written by `organizations_AddMember`, an accepted invitation, and for each administrator of a new organization. */
  organizations_MemberAdded: event<{ organizationId: string; userId: string; isAdmin: boolean }>({
    ids: ['organizationId', 'userId'],
  }),
  /** Written by `organizations_RemoveMember`. */
  organizations_MemberRemoved: event<{ organizationId: string; userId: string }>({
    ids: ['organizationId', 'userId'],
  }),
  /** Written by `organizations_SetMemberIsAdmin`. */
  organizations_MemberAdminStatusChanged: event<{ organizationId: string; userId: string; isAdmin: boolean }>(
    { ids: ['organizationId', 'userId'] },
  ),
  /** Written by `organizations_InviteMember`. */
  organizations_InvitationCreated: event<{ organizationId: string; invitationId: string; email: string }>({
    ids: ['organizationId', 'invitationId'],
  }),
  /** Written by `organizations_ResendInvitation`. */
  organizations_InvitationResent: event<{ organizationId: string; invitationId: string; email: string }>({
    ids: ['organizationId', 'invitationId'],
  }),
  /** Written by the job that mails an invitation. */
  organizations_InvitationEmailSent: event<{ organizationId: string; invitationId: string; email: string }>({
    ids: ['organizationId', 'invitationId'],
  }),
  /** Written by `organizations_DeleteInvitation`, and by `organizations_InviteMember` for an invitation that has ended. */
  organizations_InvitationDeleted: event<{ organizationId: string; invitationId: string }>({
    ids: ['organizationId', 'invitationId'],
  }),
  /** Written by `projects_Create`, and at the first start of an instance or of its demo fleet. */
  projects_Created: event<{ projectId: string }>({ ids: ['projectId'] }),
  /** Written by `projects_Delete`. */
  projects_Deleted: event<{ projectId: string }>({ ids: ['projectId'] }),
  /** Written by `projects_SetPinnedProperties`. */
  projects_PinnedPropertiesChanged: event<{
    projectId: string
    properties: { name: string; label?: string | undefined }[]
  }>({ ids: ['projectId'] }),
  /** Written by `projects_SetName`. */
  projects_NameChanged: event<{ projectId: string; name: string }>({ ids: ['projectId'] }),
  /** Written by `projects_CreateDeploymentToken`, and at the first start of an instance or of its demo fleet. */
  projects_DeploymentTokenCreated: event<{
    projectId: string
    tokenId: string
    flags: TokenFlags
  }>({ ids: ['projectId', 'tokenId'] }),
  /** Written by `projects_DeleteDeploymentToken`. */
  projects_DeploymentTokenDeleted: event<{ projectId: string; tokenId: string }>({
    ids: ['projectId', 'tokenId'],
  }),
  /** Written by `projects_SetDeploymentTokenFlags`. */
  projects_DeploymentTokenFlagsChanged: event<{
    projectId: string
    tokenId: string
    flags: TokenFlags
  }>({ ids: ['projectId', 'tokenId'] }),
  /** Written by `projects_SetDeploymentTokenLimits`. */
  projects_DeploymentTokenLimitsChanged: event<{ projectId: string; tokenId: string; limits: TokenLimits }>({
    ids: ['projectId', 'tokenId'],
  }),
  /** Written by `projects_LinkRepository`. */
  projects_RepositoryAdded: event<{ projectId: string; repositoryId: string }>({
    ids: ['projectId', 'repositoryId'],
  }),
  /** Written by `projects_UnlinkRepository`, and when a repository becomes private or a private repository moves. */
  projects_RepositoryRemoved: event<{ projectId: string; repositoryId: string }>({
    ids: ['projectId', 'repositoryId'],
  }),
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
  /** Written by `devices_Create`, and when a new device connects. */
  devices_Created: event<{ deviceId: string; projectId: string }>({ ids: ['deviceId', 'projectId'] }),
  /** Written by `devices_Delete`, and for each device by a bulk action. */
  devices_Deleted: event<{ deviceId: string; projectId: string }>({ ids: ['deviceId', 'projectId'] }),
  /** Written by `devices_SetName`. */
  devices_NameChanged: event<{ projectId: string; deviceId: string; name?: string }>({
    ids: ['projectId', 'deviceId'],
  }),
  /** Written by `devices_SetProperty`, if the caller is not the device itself. */
  devices_PropertySet: event<{ projectId: string; deviceId: string; propertyName: string }>({
    ids: ['projectId', 'deviceId'],
  }),
  /** Written by `devices_RemoveProperty`, if the caller is not the device itself. */
  devices_PropertyRemoved: event<{ projectId: string; deviceId: string; propertyName: string }>({
    ids: ['projectId', 'deviceId'],
  }),
  /** Written by `devices_AddCertificate`, and when a device connects with a new certificate. */
  devices_CertificateAdded: event<{
    projectId: string
    deviceId: string
    certificateId: string
    status: string
    /** Another device on which the certificate is active, if it is `Pending` for that reason. */
    activeOnDeviceId?: string
  }>({ ids: ['projectId', 'deviceId', 'certificateId', 'activeOnDeviceId'] }),
  /** Written by `devices_DeleteCertificate`. */
  devices_CertificateDeleted: event<{ projectId: string; deviceId: string; certificateId: string }>({
    ids: ['projectId', 'deviceId', 'certificateId'],
  }),
  /** Written by `devices_SetCertificateStatus`, and for each certificate by a bulk action. */
  devices_CertificateStatusChanged: event<{
    projectId: string
    deviceId: string
    certificateId: string
    status: string
  }>({ ids: ['projectId', 'deviceId', 'certificateId'] }),
  /** Written by `devices_StartBulkDecision`, `devices_StartBulkDeletion`, with the number of devices or certificates to process. */
  devices_BulkActionStarted: event<{
    projectId: string
    bulkActionId: string
    kind: string
    itemCount: number
  }>({ ids: ['projectId', 'bulkActionId'] }),
  /** Written by `devices_CancelBulkAction`, with the number of devices or certificates that were done until then. */
  devices_BulkActionCancelled: event<{
    projectId: string
    bulkActionId: string
    kind: string
    doneCount: number
  }>({ ids: ['projectId', 'bulkActionId'] }),
  /** Written by the job of a bulk action when the rights or the session of its person have ended. */
  devices_BulkActionStopped: event<{
    projectId: string
    bulkActionId: string
    kind: string
    doneCount: number
  }>({ ids: ['projectId', 'bulkActionId'] }),
  /** Written by the hub when machines take the connection of a device over from each other, once until that has stopped for 10 minutes. */
  devices_IdentityShared: event<{
    projectId: string
    deviceId: string
    takeovers: number
    addresses: string[]
  }>({ ids: ['projectId', 'deviceId'] }),
  /** Written by `devices_IssueHttpProxyToken`, and once for each port and connection of a command-line client that forwards ports. */
  devices_PortForwarded: event<{
    projectId: string
    deviceId: string
    port: number
    hostname?: string
    validForSecs?: number
  }>({ ids: ['projectId', 'deviceId'] }),
  /** Written by the hub when a limit is hit, at most once in 10 minutes for each limit and subject, with the ids of the subject. */
  limits_Reached: event<LimitSubject & { limit: string; count: number; message: string }>({
    ids: ['organizationId', 'projectId', 'deviceId', 'tokenId', 'userId'],
  }),
}

/** Shapes of the data of all audit events. */
export type AuditEvents = {
  [Name in keyof typeof auditEvents]: NonNullable<(typeof auditEvents)[Name]['data']>
}

/** Options of an event. */
export type EventOptions = {
  /** False keeps the event out of the log of the repository whose id is in the event's data. The default is true. */
  isForRepository?: boolean
  /**
   * Values before the change. Each key is the field of the event's data that has the new value. After a deletion: fields of the deleted
   * object.
   */
  old?: Record<string, unknown>
}

/** Caller, scope and origin of an event, and the action or job that caused it. */
type Cause = EventOptions & {
  caller: Caller
  scope: Scope
  origin?: Origin | undefined
  actionId?: string
  jobId?: string
}

/** Inserts an audit event in the transaction of the change that it records. */
export async function recordEvent<E extends keyof AuditEvents>(
  tx: Tx,
  { caller, scope, origin, actionId, jobId, isForRepository = true, old }: Cause,
  event: E,
  data: AuditEvents[E],
): Promise<void> {
  const ids: Partial<
    Record<'userId' | 'organizationId' | 'projectId' | 'repositoryId' | 'deviceId', string>
  > = {
    ...scope,
    ...data,
  }
  await tx
    .insertInto('audit_event')
    .values({
      event_id: newDatedId('audit_ev'),
      event,
      actor: JSON.stringify(wireActor(caller)),
      actor_id: actorId(caller),
      data: JSON.stringify(data),
      action_id: actionId ?? null,
      job_id: jobId ?? null,
      user_id: ids.userId ?? null,
      organization_id: ids.organizationId ?? null,
      project_id: ids.projectId ?? null,
      repository_id: isForRepository ? (ids.repositoryId ?? null) : null,
      device_id: ids.deviceId ?? null,
      old_data: storedValues(old),
      ...originColumns(caller, origin),
      // `clock_timestamp()` keeps the order of events in one transaction, where `now()` is constant.
      created_at: sql<Date>`clock_timestamp()` as never,
    })
    .execute()
}
