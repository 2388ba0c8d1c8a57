import { newDatedId } from '@muster/actions'
import { sql } from 'kysely'
import type { Scope } from '../access/scope.ts'
import { actorId, type Caller, wireActor } from '../caller.ts'
import type { Tx } from '../database/client/connection.ts'
import type { TokenLimits } from '../database/queries/projects/token-limits.ts'
import type { LimitSubject } from '../limits/limits.ts'

/** Every kind of audit event with the shape of its data (docs/api.md 5). */
export type AuditEvents = {
  users_Created: { userId: string; email: string }
  users_Deleted: { userId: string }
  users_SetIsAdmin: { userId: string; isAdmin: boolean }
  users_SetIsActive: { userId: string; isActive: boolean }
  users_SetPassword: { userId: string }
  users_DisplayNameChanged: { userId: string; displayName: string }
  users_TokenCreated: { userId: string; tokenId: string; name?: string; expiresAt?: string }
  users_TokenDeleted: { userId: string; tokenId: string; name?: string }
  users_RegistrationCreated: { userId: string; email: string }
  users_RegistrationEmailSent: { userId: string; email: string }
  users_RegistrationCompleted: { userId: string }
  users_RegistrationExpired: { userId: string; email: string }
  users_PasswordResetRequested: { userId: string }
  users_PasswordResetEmailSent: { userId: string; email: string }
  users_PasswordChangedEmailSent: { userId: string; email: string }
  users_PasswordResetCompleted: { userId: string }
  users_SessionInitiated: { userId: string; sessionId: string }
  users_SessionTerminated: { userId: string; sessionId: string }
  organizations_Created: { organizationId: string }
  organizations_Deleted: { organizationId: string }
  organizations_NameChanged: { organizationId: string; name: string }
  organizations_MemberAdded: { organizationId: string; userId: string; isAdmin: boolean }
  organizations_MemberRemoved: { organizationId: string; userId: string }
  organizations_MemberAdminStatusChanged: { organizationId: string; userId: string; isAdmin: boolean }
  organizations_InvitationCreated: { organizationId: string; invitationId: string; email: string }
  organizations_InvitationEmailSent: { organizationId: string; invitationId: string; email: string }
  organizations_InvitationDeleted: { organizationId: string; invitationId: string }
  projects_Created: { projectId: string }
  projects_Deleted: { projectId: string }
  projects_NameChanged: { projectId: string; name: string }
  projects_DeploymentTokenCreated: { projectId: string; tokenId: string; flags: { autoAccept: boolean } }
  projects_DeploymentTokenDeleted: { projectId: string; tokenId: string }
  projects_DeploymentTokenFlagsChanged: { projectId: string; tokenId: string; flags: { autoAccept: boolean } }
  projects_DeploymentTokenLimitsChanged: { projectId: string; tokenId: string; limits: TokenLimits }
  projects_RepositoryAdded: { projectId: string; repositoryId: string }
  projects_RepositoryRemoved: { projectId: string; repositoryId: string }
  repositories_Created: { repositoryId: string; organizationId: string }
  repositories_Deleted: { repositoryId: string; organizationId: string }
  repositories_OrganizationChanged: {
    repositoryId: string
    previousOrganizationId: string
    newOrganizationId: string
  }
  repositories_VisibilityChanged: { repositoryId: string; visibility: string }
  repositories_DisplayNameChanged: { repositoryId: string; displayName: string }
  repositories_PublicNameChanged: { repositoryId: string; publicName: string }
  repositories_S3ConfigChanged: { repositoryId: string }
  repositories_PackageCreated: { repositoryId: string; packageId: string; name: string }
  repositories_PackageDeleted: { repositoryId: string; packageId: string }
  repositories_PackageNameChanged: { repositoryId: string; packageId: string; name: string }
  repositories_PackageKindChanged: { repositoryId: string; packageId: string; kind?: string }
  repositories_PackageMetadataChanged: { repositoryId: string; packageId: string }
  repositories_PackageAssetAdded: {
    repositoryId: string
    packageId: string
    assetId: string
    filename: string
  }
  repositories_PackageAssetRemoved: { repositoryId: string; packageId: string; filename: string }
  repositories_PackageAssetMetadataChanged: { repositoryId: string; packageId: string; filename: string }
  repositories_PackageVersionCreated: { repositoryId: string; packageId: string; versionId: string }
  repositories_PackageVersionDeleted: { repositoryId: string; packageId: string; versionId: string }
  repositories_PackageVersionNameChanged: { repositoryId: string; versionId: string; name?: string }
  repositories_PackageVersionMetadataChanged: { repositoryId: string; versionId: string }
  repositories_PackageVersionAssetAdded: {
    repositoryId: string
    versionId: string
    assetId: string
    filename: string
  }
  repositories_PackageVersionAssetRemoved: { repositoryId: string; versionId: string; filename: string }
  repositories_PackageVersionAssetMetadataChanged: {
    repositoryId: string
    versionId: string
    filename: string
  }
  repositories_PackageVersionTagged: { repositoryId: string; versionId: string; tags: string[] }
  repositories_PackageVersionUntagged: { repositoryId: string; versionId: string; tags: string[] }
  repositories_AssetCreated: { repositoryId: string; assetId: string }
  repositories_AssetAvailable: { repositoryId: string; assetId: string }
  repositories_AssetDeleted: { repositoryId: string; assetId: string }
  devices_Created: { deviceId: string; projectId: string }
  devices_Deleted: { deviceId: string; projectId: string }
  devices_NameChanged: { projectId: string; deviceId: string; name?: string }
  devices_PropertySet: { projectId: string; deviceId: string; propertyName: string }
  devices_PropertyRemoved: { projectId: string; deviceId: string; propertyName: string }
  devices_CertificateAdded: { projectId: string; deviceId: string; certificateId: string; status: string }
  devices_CertificateDeleted: { projectId: string; deviceId: string; certificateId: string }
  devices_CertificateStatusChanged: {
    projectId: string
    deviceId: string
    certificateId: string
    status: string
  }
  devices_PortForwarded: { projectId: string; deviceId: string; port: number }
  limits_Reached: LimitSubject & { limit: string; count: number; message: string }
}

/** `isForRepository: false` keeps an event out of the log of the repository that its data name. The default is true. */
export type EventOptions = { isForRepository?: boolean }

/** Caller and scope of an event, and the action or job that caused it. */
type Cause = EventOptions & { caller: Caller; scope: Scope; actionId?: string; jobId?: string }

/** Inserts an audit event in the transaction of the change that it records. */
export async function recordEvent<E extends keyof AuditEvents>(
  tx: Tx,
  { caller, scope, actionId, jobId, isForRepository = true }: Cause,
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
      // `clock_timestamp()` keeps the order of events in one transaction, where `now()` is constant.
      created_at: sql<Date>`clock_timestamp()` as never,
    })
    .execute()
}
