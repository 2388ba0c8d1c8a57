import { newDatedId } from '@muster/actions'
import { sql } from 'kysely'
import type { Scope } from '../access/scope.ts'
import { actorId, type Caller, wireActor } from '../caller.ts'
import type { Tx } from '../database/client/connection.ts'
import type { TokenLimits } from '../database/queries/projects/token-limits.ts'
import type { LimitSubject } from '../limits/limits.ts'
import { type Origin, originColumns, storedValues } from './facts.ts'

/** Flags of a deployment token. `ownCertificate` is present only where it is on. */
type TokenFlags = { autoAccept: boolean; ownCertificate?: boolean }

/** Every kind of audit event with the shape of its data. `npm run gen` copies the docstrings into docs/api.md 5. */
export type AuditEvents = {
  /** Written by `users_Create`, `users_CompleteRegistration` and `muster-hub admin create`, and at the first start of an instance. */
  users_Created: { userId: string; email: string }
  /** Written by `users_Delete`. */
  users_Deleted: { userId: string }
  /** Written by `users_SetIsAdmin`. */
  users_SetIsAdmin: { userId: string; isAdmin: boolean }
  /** Written by `users_SetIsActive` and `muster-hub admin disable`. */
  users_SetIsActive: { userId: string; isActive: boolean }
  /** Written by `users_SetPassword`, `users_ChangePassword` and `muster-hub admin reset-password`. */
  users_SetPassword: { userId: string }
  /** Written by `users_SetDisplayName`. */
  users_DisplayNameChanged: { userId: string; displayName: string }
  /** Written by `users_CreateToken`. */
  users_TokenCreated: { userId: string; tokenId: string; name?: string; expiresAt?: string }
  /** Written by `users_DeleteToken`, and for each token that ends because a password was set or an account was disabled. */
  users_TokenDeleted: { userId: string; tokenId: string; name?: string }
  /** Written by `users_Register`. */
  users_RegistrationCreated: { userId: string; email: string }
  /** Written by the job that mails an activation link. */
  users_RegistrationEmailSent: { userId: string; email: string }
  /** Written by `users_CompleteRegistration`. */
  users_RegistrationCompleted: { userId: string }
  /** Written by the job that deletes accounts which were not activated in time. */
  users_RegistrationExpired: { userId: string; email: string }
  /** Written by `users_ResetPassword`. */
  users_PasswordResetRequested: { userId: string }
  /** Written by the job that mails a link to set a password. */
  users_PasswordResetEmailSent: { userId: string; email: string }
  /** Written by the job that informs the owner of an account about a new password. */
  users_PasswordChangedEmailSent: { userId: string; email: string }
  /** Written by `users_CompletePasswordReset`. */
  users_PasswordResetCompleted: { userId: string }
  /** Written by the hub when a person signs in. */
  users_SessionInitiated: { userId: string; sessionId: string }
  /** Written by `users_TerminateSession`, `users_TerminateSessions`, a sign-out, and when an account is disabled. */
  users_SessionTerminated: { userId: string; sessionId: string }
  /** Written by `jobs_Retry`. */
  jobs_Retried: { jobId: string; job: string }
  /** Written by `cluster_StartRebalance` and `muster-hub rebalance`. */
  cluster_RebalanceStarted: { nodeIds: string[]; deviceCount: number }
  /** Written by `cluster_CancelRebalance` and `muster-hub rebalance --cancel`. */
  cluster_RebalanceCancelled: { nodeIds: string[] }
  /** Written by `muster-hub backup`. */
  instance_BackedUp: { sizeBytes: number; isVerified: boolean; hasBlobs: boolean; hasKey: boolean }
  /** Written by `muster-hub restore`. `backedUpAt` is the time of the backup. */
  instance_Restored: { backedUpAt: string; sessionCount: number; jobIds: string[]; bulkActionIds: string[] }
  /** Written by `muster-hub database move`. `to` is the new address without a password. */
  instance_DatabaseMoved: { to: string }
  /** Written by `organizations_Create`, for each new account, and at the first start of an instance or of its demo fleet. */
  organizations_Created: { organizationId: string }
  /** Written by `organizations_Delete`. */
  organizations_Deleted: { organizationId: string }
  /** Written by `organizations_SetName`. */
  organizations_NameChanged: { organizationId: string; name: string }
  /** Written by `organizations_AddMember`, an accepted invitation, and for each administrator of a new organization. */
  organizations_MemberAdded: { organizationId: string; userId: string; isAdmin: boolean }
  /** Written by `organizations_RemoveMember`. */
  organizations_MemberRemoved: { organizationId: string; userId: string }
  /** Written by `organizations_SetMemberIsAdmin`. */
  organizations_MemberAdminStatusChanged: { organizationId: string; userId: string; isAdmin: boolean }
  /** Written by `organizations_InviteMember`. */
  organizations_InvitationCreated: { organizationId: string; invitationId: string; email: string }
  /** Written by `organizations_ResendInvitation`. */
  organizations_InvitationResent: { organizationId: string; invitationId: string; email: string }
  /** Written by the job that mails an invitation. */
  organizations_InvitationEmailSent: { organizationId: string; invitationId: string; email: string }
  /** Written by `organizations_DeleteInvitation`, and by `organizations_InviteMember` for an invitation that has ended. */
  organizations_InvitationDeleted: { organizationId: string; invitationId: string }
  /** Written by `projects_Create`, and at the first start of an instance or of its demo fleet. */
  projects_Created: { projectId: string }
  /** Written by `projects_Delete`. */
  projects_Deleted: { projectId: string }
  /** Written by `projects_SetPinnedProperties`. */
  projects_PinnedPropertiesChanged: {
    projectId: string
    properties: { name: string; label?: string | undefined }[]
  }
  /** Written by `projects_SetName`. */
  projects_NameChanged: { projectId: string; name: string }
  /** Written by `projects_CreateDeploymentToken`, and at the first start of an instance or of its demo fleet. */
  projects_DeploymentTokenCreated: { projectId: string; tokenId: string; flags: TokenFlags }
  /** Written by `projects_DeleteDeploymentToken`. */
  projects_DeploymentTokenDeleted: { projectId: string; tokenId: string }
  /** Written by `projects_SetDeploymentTokenFlags`. */
  projects_DeploymentTokenFlagsChanged: { projectId: string; tokenId: string; flags: TokenFlags }
  /** Written by `projects_SetDeploymentTokenLimits`. */
  projects_DeploymentTokenLimitsChanged: { projectId: string; tokenId: string; limits: TokenLimits }
  /** Written by `projects_LinkRepository`. */
  projects_RepositoryAdded: { projectId: string; repositoryId: string }
  /** Written by `projects_UnlinkRepository`, and when a repository becomes private or a private repository moves. */
  projects_RepositoryRemoved: { projectId: string; repositoryId: string }
  /** Written by `repositories_Create`. */
  repositories_Created: { repositoryId: string; organizationId: string }
  /** Written by `repositories_Delete`. */
  repositories_Deleted: { repositoryId: string; organizationId: string }
  /** Written by `repositories_SetOrganization`. */
  repositories_OrganizationChanged: {
    repositoryId: string
    previousOrganizationId: string
    newOrganizationId: string
  }
  /** Written by `repositories_SetVisibility`. */
  repositories_VisibilityChanged: { repositoryId: string; visibility: string }
  /** Written by `repositories_SetDisplayName`. */
  repositories_DisplayNameChanged: { repositoryId: string; displayName: string }
  /** Written by `repositories_SetSlug`, with the slug as public name. */
  repositories_PublicNameChanged: { repositoryId: string; publicName: string }
  /** Written by `repositories_SetS3Config`, `repositories_RemoveS3Config`. */
  repositories_S3ConfigChanged: { repositoryId: string }
  /** Written by `repositories_CreatePackage`. */
  repositories_PackageCreated: { repositoryId: string; packageId: string; name: string }
  /** Written by `repositories_DeletePackage`. */
  repositories_PackageDeleted: { repositoryId: string; packageId: string }
  /** Written by `repositories_SetPackageName`. */
  repositories_PackageNameChanged: { repositoryId: string; packageId: string; name: string }
  /** Written by `repositories_SetPackageKind`. */
  repositories_PackageKindChanged: { repositoryId: string; packageId: string; kind?: string }
  /** Written by `repositories_SetPackageMetadata`. */
  repositories_PackageMetadataChanged: { repositoryId: string; packageId: string }
  /** Written by `repositories_AddPackageAsset`. */
  repositories_PackageAssetAdded: {
    repositoryId: string
    packageId: string
    assetId: string
    filename: string
  }
  /** Written by `repositories_RemovePackageAsset`. */
  repositories_PackageAssetRemoved: { repositoryId: string; packageId: string; filename: string }
  /** Written by `repositories_SetPackageAssetMetadata`. */
  repositories_PackageAssetMetadataChanged: { repositoryId: string; packageId: string; filename: string }
  /** Written by `repositories_CreateVersion`. */
  repositories_PackageVersionCreated: { repositoryId: string; packageId: string; versionId: string }
  /** Written by `repositories_DeleteVersion`. */
  repositories_PackageVersionDeleted: { repositoryId: string; packageId: string; versionId: string }
  /** Written by `repositories_SetVersionName`. */
  repositories_PackageVersionNameChanged: { repositoryId: string; versionId: string; name?: string }
  /** Written by `repositories_SetVersionMetadata`. */
  repositories_PackageVersionMetadataChanged: { repositoryId: string; versionId: string }
  /** Written by `repositories_AddVersionAsset`. */
  repositories_PackageVersionAssetAdded: {
    repositoryId: string
    versionId: string
    assetId: string
    filename: string
  }
  /** Written by `repositories_RemoveVersionAsset`. */
  repositories_PackageVersionAssetRemoved: { repositoryId: string; versionId: string; filename: string }
  /** Written by `repositories_SetVersionAssetMetadata`. */
  repositories_PackageVersionAssetMetadataChanged: {
    repositoryId: string
    versionId: string
    filename: string
  }
  /** Written by `repositories_CreateVersion` and `repositories_TagVersion`, with the tags that changed. */
  repositories_PackageVersionTagged: { repositoryId: string; versionId: string; tags: string[] }
  /** Written by `repositories_UntagVersion`, with the tags that changed. */
  repositories_PackageVersionUntagged: { repositoryId: string; versionId: string; tags: string[] }
  /** Written by `repositories_CreateAsset`. */
  repositories_AssetCreated: { repositoryId: string; assetId: string }
  /** Written by `repositories_FinalizeAssetUpload`, and by an upload through the hub. */
  repositories_AssetAvailable: { repositoryId: string; assetId: string }
  /** Written by `repositories_DeleteAsset`, and by the job that removes abandoned uploads. */
  repositories_AssetDeleted: { repositoryId: string; assetId: string }
  /** Written by `devices_Create`, and when a new device connects. */
  devices_Created: { deviceId: string; projectId: string }
  /** Written by `devices_Delete`, and for each device by a bulk action. */
  devices_Deleted: { deviceId: string; projectId: string }
  /** Written by `devices_SetName`. */
  devices_NameChanged: { projectId: string; deviceId: string; name?: string }
  /** Written by `devices_SetProperty`, if the caller is not the device itself. */
  devices_PropertySet: { projectId: string; deviceId: string; propertyName: string }
  /** Written by `devices_RemoveProperty`, if the caller is not the device itself. */
  devices_PropertyRemoved: { projectId: string; deviceId: string; propertyName: string }
  /** Written by `devices_AddCertificate`, and when a device connects with a new certificate. */
  devices_CertificateAdded: {
    projectId: string
    deviceId: string
    certificateId: string
    status: string
    /** Another device on which the certificate is active, if it is `Pending` for that reason. */
    activeOnDeviceId?: string
  }
  /** Written by `devices_DeleteCertificate`. */
  devices_CertificateDeleted: { projectId: string; deviceId: string; certificateId: string }
  /** Written by `devices_SetCertificateStatus`, and for each certificate by a bulk action. */
  devices_CertificateStatusChanged: {
    projectId: string
    deviceId: string
    certificateId: string
    status: string
  }
  /** Written by `devices_StartBulkDecision`, `devices_StartBulkDeletion`, with the number of devices or certificates to process. */
  devices_BulkActionStarted: { projectId: string; bulkActionId: string; kind: string; itemCount: number }
  /** Written by `devices_CancelBulkAction`, with the number of devices or certificates that were done until then. */
  devices_BulkActionCancelled: { projectId: string; bulkActionId: string; kind: string; doneCount: number }
  /** Written by the job of a bulk action when the rights or the session of its person have ended. */
  devices_BulkActionStopped: { projectId: string; bulkActionId: string; kind: string; doneCount: number }
  /** Written by the hub when machines take the connection of a device over from each other, once until that has stopped for 10 minutes. */
  devices_IdentityShared: { projectId: string; deviceId: string; takeovers: number; addresses: string[] }
  /** Written by `devices_IssueHttpProxyToken`, and once for each port and connection of a command-line client that forwards ports. */
  devices_PortForwarded: {
    projectId: string
    deviceId: string
    port: number
    hostname?: string
    validForSecs?: number
  }
  /** Written by the hub when a limit is hit, at most once in 10 minutes for each limit and subject, with the ids of the subject. */
  limits_Reached: LimitSubject & { limit: string; count: number; message: string }
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
