// Written by `npm run gen` from the files below this folder.
import type { Handlers } from '../platform/pipeline/handler.ts'
import { users_AcceptOrganizationInvitation } from './accounts/actions/AcceptOrganizationInvitation.ts'
import { users_ChangePassword } from './accounts/actions/ChangePassword.ts'
import { users_CompletePasswordReset } from './accounts/actions/CompletePasswordReset.ts'
import { users_CompleteRegistration } from './accounts/actions/CompleteRegistration.ts'
import { users_Create } from './accounts/actions/Create.ts'
import { users_CreateToken } from './accounts/actions/CreateToken.ts'
import { users_Delete } from './accounts/actions/Delete.ts'
import { users_DeleteToken } from './accounts/actions/DeleteToken.ts'
import { actor_GetActor } from './accounts/actions/GetActor.ts'
import { users_GetDetails } from './accounts/actions/GetDetails.ts'
import { users_GetDevicePermissions } from './accounts/actions/GetDevicePermissions.ts'
import { users_GetView } from './accounts/actions/GetView.ts'
import { users_Query } from './accounts/actions/Query.ts'
import { users_QueryOrganizationInvitations } from './accounts/actions/QueryOrganizationInvitations.ts'
import { users_QueryOrganizations } from './accounts/actions/QueryOrganizations.ts'
import { users_QuerySessions } from './accounts/actions/QuerySessions.ts'
import { users_QueryTokens } from './accounts/actions/QueryTokens.ts'
import { users_Register } from './accounts/actions/Register.ts'
import { users_ResendRegistrationEmail } from './accounts/actions/ResendRegistrationEmail.ts'
import { users_ResetPassword } from './accounts/actions/ResetPassword.ts'
import { users_SetDisplayName } from './accounts/actions/SetDisplayName.ts'
import { users_SetIsActive } from './accounts/actions/SetIsActive.ts'
import { users_SetIsAdmin } from './accounts/actions/SetIsAdmin.ts'
import { users_SetPassword } from './accounts/actions/SetPassword.ts'
import { users_SetView } from './accounts/actions/SetView.ts'
import { users_TerminateSession } from './accounts/actions/TerminateSession.ts'
import { users_TerminateSessions } from './accounts/actions/TerminateSessions.ts'
import { devices_AddCertificate } from './approvals/actions/AddCertificate.ts'
import { devices_DeleteCertificate } from './approvals/actions/DeleteCertificate.ts'
import { projects_QueryPendingCertificates } from './approvals/actions/QueryPendingCertificates.ts'
import { devices_SetCertificateStatus } from './approvals/actions/SetCertificateStatus.ts'
import { audit_QueryAuditLogActions } from './audit/actions/QueryActions.ts'
import { devices_QueryAuditLogActivity } from './audit/actions/QueryDeviceActivity.ts'
import { devices_QueryAuditLog } from './audit/actions/QueryDevices.ts'
import { audit_QueryAuditLogActivity } from './audit/actions/QueryEventActivity.ts'
import { audit_QueryAuditLogEvents } from './audit/actions/QueryEvents.ts'
import { organizations_QueryAuditLogActivity } from './audit/actions/QueryOrganizationActivity.ts'
import { organizations_QueryAuditLog } from './audit/actions/QueryOrganizations.ts'
import { projects_QueryAuditLogActivity } from './audit/actions/QueryProjectActivity.ts'
import { projects_QueryAuditLog } from './audit/actions/QueryProjects.ts'
import { repositories_QueryAuditLog } from './audit/actions/QueryRepositories.ts'
import { repositories_QueryAuditLogActivity } from './audit/actions/QueryRepositoryActivity.ts'
import { devices_CancelBulkAction } from './bulk/actions/CancelBulkAction.ts'
import { devices_CreateBulkDecision } from './bulk/actions/CreateBulkDecision.ts'
import { devices_CreateBulkDeletion } from './bulk/actions/CreateBulkDeletion.ts'
import { devices_GetBulkAction } from './bulk/actions/GetBulkAction.ts'
import { devices_GetBulkCounts } from './bulk/actions/GetBulkCounts.ts'
import { devices_QueryBulkActionItems } from './bulk/actions/QueryBulkActionItems.ts'
import { devices_StartBulkDecision } from './bulk/actions/StartBulkDecision.ts'
import { devices_StartBulkDeletion } from './bulk/actions/StartBulkDeletion.ts'
import { devices_ClaimOperationWork } from './devices/actions/ClaimOperationWork.ts'
import { devices_Create } from './devices/actions/Create.ts'
import { devices_Delete } from './devices/actions/Delete.ts'
import { devices_GetConnectionHistory } from './devices/actions/GetConnectionHistory.ts'
import { devices_GetDetails } from './devices/actions/GetDetails.ts'
import { devices_GetProblemRun } from './devices/actions/GetProblemRun.ts'
import { devices_GetProperty } from './devices/actions/GetProperty.ts'
import { devices_IssueDeviceToken } from './devices/actions/IssueDeviceToken.ts'
import { devices_IssueHttpProxyToken } from './devices/actions/IssueHttpProxyToken.ts'
import { devices_PublishEvents } from './devices/actions/PublishEvents.ts'
import { devices_Query } from './devices/actions/Query.ts'
import { devices_QueryConnections } from './devices/actions/QueryConnections.ts'
import { projects_QueryDeviceCounts } from './devices/actions/QueryDeviceCounts.ts'
import { projects_QueryDevices } from './devices/actions/QueryDevices.ts'
import { devices_QueryEvents } from './devices/actions/QueryEvents.ts'
import { devices_QueryProperties } from './devices/actions/QueryProperties.ts'
import { devices_QueryPropertyHistory } from './devices/actions/QueryPropertyHistory.ts'
import { projects_QueryPropertyNames } from './devices/actions/QueryPropertyNames.ts'
import { projects_QueryPropertyValues } from './devices/actions/QueryPropertyValues.ts'
import { devices_RemoveProperty } from './devices/actions/RemoveProperty.ts'
import { devices_SetName } from './devices/actions/SetName.ts'
import { devices_SetProperty } from './devices/actions/SetProperty.ts'
import { devices_ValidateDeviceToken } from './devices/actions/ValidateDeviceToken.ts'
import { cluster_CancelRebalance } from './instance/actions/CancelRebalance.ts'
import { cluster_GetDetails } from './instance/actions/GetClusterDetails.ts'
import { instance_GetHealth } from './instance/actions/GetHealth.ts'
import { jobs_GetSummary } from './instance/actions/GetJobSummary.ts'
import { instance_GetStatistics } from './instance/actions/GetStatistics.ts'
import { jobs_Query } from './instance/actions/QueryJobs.ts'
import { instance_QueryProjects } from './instance/actions/QueryProjects.ts'
import { jobs_Retry } from './instance/actions/RetryJob.ts'
import { cluster_StartRebalance } from './instance/actions/StartRebalance.ts'
import { organizations_AddMember } from './organizations/actions/AddMember.ts'
import { organizations_Create } from './organizations/actions/Create.ts'
import { organizations_Delete } from './organizations/actions/Delete.ts'
import { organizations_DeleteInvitation } from './organizations/actions/DeleteInvitation.ts'
import { organizations_GetInvitation } from './organizations/actions/GetInvitation.ts'
import { organizations_InviteMember } from './organizations/actions/InviteMember.ts'
import { organizations_Query } from './organizations/actions/Query.ts'
import { organizations_QueryInvitations } from './organizations/actions/QueryInvitations.ts'
import { organizations_QueryMembers } from './organizations/actions/QueryMembers.ts'
import { organizations_QueryProjects } from './organizations/actions/QueryProjects.ts'
import { organizations_QueryRepositories } from './organizations/actions/QueryRepositories.ts'
import { organizations_RemoveMember } from './organizations/actions/RemoveMember.ts'
import { organizations_ResendInvitation } from './organizations/actions/ResendInvitation.ts'
import { organizations_Search } from './organizations/actions/Search.ts'
import { organizations_SetMemberIsAdmin } from './organizations/actions/SetMemberIsAdmin.ts'
import { organizations_SetName } from './organizations/actions/SetName.ts'
import { projects_Create } from './projects/actions/Create.ts'
import { projects_CreateDeploymentToken } from './projects/actions/CreateDeploymentToken.ts'
import { projects_Delete } from './projects/actions/Delete.ts'
import { projects_DeleteDeploymentToken } from './projects/actions/DeleteDeploymentToken.ts'
import { projects_GetDetails } from './projects/actions/GetDetails.ts'
import { projects_GetPins } from './projects/actions/GetPins.ts'
import { projects_GetSummary } from './projects/actions/GetSummary.ts'
import { projects_LinkRepository } from './projects/actions/LinkRepository.ts'
import { projects_Query } from './projects/actions/Query.ts'
import { projects_QueryDeploymentTokens } from './projects/actions/QueryDeploymentTokens.ts'
import { projects_QueryLinkedRepositories } from './projects/actions/QueryLinkedRepositories.ts'
import { projects_SetDeploymentTokenFlags } from './projects/actions/SetDeploymentTokenFlags.ts'
import { projects_SetDeploymentTokenLimits } from './projects/actions/SetDeploymentTokenLimits.ts'
import { projects_SetName } from './projects/actions/SetName.ts'
import { projects_SetPinnedProperties } from './projects/actions/SetPinnedProperties.ts'
import { projects_SetPins } from './projects/actions/SetPins.ts'
import { projects_UnlinkRepository } from './projects/actions/UnlinkRepository.ts'
import { repositories_AddPackageAsset } from './repositories/actions/AddPackageAsset.ts'
import { repositories_AddVersionAsset } from './repositories/actions/AddVersionAsset.ts'
import { repositories_Create } from './repositories/actions/Create.ts'
import { repositories_CreateAsset } from './repositories/actions/CreateAsset.ts'
import { repositories_CreatePackage } from './repositories/actions/CreatePackage.ts'
import { repositories_CreateVersion } from './repositories/actions/CreateVersion.ts'
import { repositories_Delete } from './repositories/actions/Delete.ts'
import { repositories_DeleteAsset } from './repositories/actions/DeleteAsset.ts'
import { repositories_DeletePackage } from './repositories/actions/DeletePackage.ts'
import { repositories_DeleteVersion } from './repositories/actions/DeleteVersion.ts'
import { repositories_FinalizeAssetUpload } from './repositories/actions/FinalizeAssetUpload.ts'
import { repositories_GetAssetDetails } from './repositories/actions/GetAssetDetails.ts'
import { repositories_GetDetails } from './repositories/actions/GetDetails.ts'
import { repositories_GetFollowers } from './repositories/actions/GetFollowers.ts'
import { repositories_GetPackageDetails } from './repositories/actions/GetPackageDetails.ts'
import { repositories_GetS3Config } from './repositories/actions/GetS3Config.ts'
import { repositories_GetVersionDetails } from './repositories/actions/GetVersionDetails.ts'
import { repositories_IssueAssetDownloadUrl } from './repositories/actions/IssueAssetDownloadUrl.ts'
import { repositories_IssueAssetUploadUrl } from './repositories/actions/IssueAssetUploadUrl.ts'
import { repositories_QueryAssets } from './repositories/actions/QueryAssets.ts'
import { repositories_QueryLinkedProjects } from './repositories/actions/QueryLinkedProjects.ts'
import { repositories_QueryPackages } from './repositories/actions/QueryPackages.ts'
import { repositories_QueryPackageVersions } from './repositories/actions/QueryPackageVersions.ts'
import { repositories_RemovePackageAsset } from './repositories/actions/RemovePackageAsset.ts'
import { repositories_RemoveS3Config } from './repositories/actions/RemoveS3Config.ts'
import { repositories_RemoveVersionAsset } from './repositories/actions/RemoveVersionAsset.ts'
import { repositories_ResolveName } from './repositories/actions/ResolveName.ts'
import { repositories_ResolvePackageByPath } from './repositories/actions/ResolvePackageByPath.ts'
import { repositories_ResolveVersionAssetByPath } from './repositories/actions/ResolveVersionAssetByPath.ts'
import { repositories_ResolveVersionByPath } from './repositories/actions/ResolveVersionByPath.ts'
import { repositories_SetDisplayName } from './repositories/actions/SetDisplayName.ts'
import { repositories_SetNames } from './repositories/actions/SetNames.ts'
import { repositories_SetOrganization } from './repositories/actions/SetOrganization.ts'
import { repositories_SetPackageAssetMetadata } from './repositories/actions/SetPackageAssetMetadata.ts'
import { repositories_SetPackageKind } from './repositories/actions/SetPackageKind.ts'
import { repositories_SetPackageMetadata } from './repositories/actions/SetPackageMetadata.ts'
import { repositories_SetPackageName } from './repositories/actions/SetPackageName.ts'
import { repositories_SetS3Config } from './repositories/actions/SetS3Config.ts'
import { repositories_SetSlug } from './repositories/actions/SetSlug.ts'
import { repositories_SetVersionAssetMetadata } from './repositories/actions/SetVersionAssetMetadata.ts'
import { repositories_SetVersionMetadata } from './repositories/actions/SetVersionMetadata.ts'
import { repositories_SetVersionName } from './repositories/actions/SetVersionName.ts'
import { repositories_SetVisibility } from './repositories/actions/SetVisibility.ts'
import { repositories_TagVersion } from './repositories/actions/TagVersion.ts'
import { repositories_TestS3Config } from './repositories/actions/TestS3Config.ts'
import { repositories_UntagVersion } from './repositories/actions/UntagVersion.ts'
import { projects_GetSoftware } from './software/actions/GetSoftware.ts'
import { repositories_GetVersionUsage } from './software/actions/GetVersionUsage.ts'
import { repositories_QueryPackageUsage } from './software/actions/QueryPackageUsage.ts'
import { devices_QueryTimeline } from './timeline/actions/QueryTimeline.ts'

export const handlers: Handlers = {
  users_AcceptOrganizationInvitation,
  users_ChangePassword,
  users_CompletePasswordReset,
  users_CompleteRegistration,
  users_Create,
  users_CreateToken,
  users_Delete,
  users_DeleteToken,
  actor_GetActor,
  users_GetDetails,
  users_GetDevicePermissions,
  users_GetView,
  users_Query,
  users_QueryOrganizationInvitations,
  users_QueryOrganizations,
  users_QuerySessions,
  users_QueryTokens,
  users_Register,
  users_ResendRegistrationEmail,
  users_ResetPassword,
  users_SetDisplayName,
  users_SetIsActive,
  users_SetIsAdmin,
  users_SetPassword,
  users_SetView,
  users_TerminateSession,
  users_TerminateSessions,
  audit_QueryAuditLogActions,
  devices_QueryAuditLogActivity,
  devices_QueryAuditLog,
  audit_QueryAuditLogActivity,
  audit_QueryAuditLogEvents,
  organizations_QueryAuditLogActivity,
  organizations_QueryAuditLog,
  projects_QueryAuditLogActivity,
  projects_QueryAuditLog,
  repositories_QueryAuditLog,
  repositories_QueryAuditLogActivity,
  devices_AddCertificate,
  devices_CancelBulkAction,
  devices_ClaimOperationWork,
  devices_Create,
  devices_CreateBulkDecision,
  devices_CreateBulkDeletion,
  devices_Delete,
  devices_DeleteCertificate,
  devices_GetBulkAction,
  devices_GetBulkCounts,
  devices_GetConnectionHistory,
  devices_GetDetails,
  devices_GetProblemRun,
  devices_GetProperty,
  devices_IssueDeviceToken,
  devices_IssueHttpProxyToken,
  devices_PublishEvents,
  devices_Query,
  devices_QueryBulkActionItems,
  devices_QueryConnections,
  devices_QueryEvents,
  devices_QueryProperties,
  devices_QueryPropertyHistory,
  devices_QueryTimeline,
  devices_RemoveProperty,
  devices_SetCertificateStatus,
  devices_SetName,
  devices_SetProperty,
  devices_StartBulkDecision,
  devices_StartBulkDeletion,
  devices_ValidateDeviceToken,
  cluster_CancelRebalance,
  cluster_GetDetails,
  instance_GetHealth,
  jobs_GetSummary,
  instance_GetStatistics,
  jobs_Query,
  instance_QueryProjects,
  jobs_Retry,
  cluster_StartRebalance,
  organizations_AddMember,
  organizations_Create,
  organizations_Delete,
  organizations_DeleteInvitation,
  organizations_GetInvitation,
  organizations_InviteMember,
  organizations_Query,
  organizations_QueryInvitations,
  organizations_QueryMembers,
  organizations_QueryProjects,
  organizations_QueryRepositories,
  organizations_RemoveMember,
  organizations_ResendInvitation,
  organizations_Search,
  organizations_SetMemberIsAdmin,
  organizations_SetName,
  projects_Create,
  projects_CreateDeploymentToken,
  projects_Delete,
  projects_DeleteDeploymentToken,
  projects_GetDetails,
  projects_GetPins,
  projects_GetSoftware,
  projects_GetSummary,
  projects_LinkRepository,
  projects_Query,
  projects_QueryDeploymentTokens,
  projects_QueryDeviceCounts,
  projects_QueryDevices,
  projects_QueryLinkedRepositories,
  projects_QueryPendingCertificates,
  projects_QueryPropertyNames,
  projects_QueryPropertyValues,
  projects_SetDeploymentTokenFlags,
  projects_SetDeploymentTokenLimits,
  projects_SetName,
  projects_SetPinnedProperties,
  projects_SetPins,
  projects_UnlinkRepository,
  repositories_AddPackageAsset,
  repositories_AddVersionAsset,
  repositories_Create,
  repositories_CreateAsset,
  repositories_CreatePackage,
  repositories_CreateVersion,
  repositories_Delete,
  repositories_DeleteAsset,
  repositories_DeletePackage,
  repositories_DeleteVersion,
  repositories_FinalizeAssetUpload,
  repositories_GetAssetDetails,
  repositories_GetDetails,
  repositories_GetFollowers,
  repositories_GetPackageDetails,
  repositories_GetS3Config,
  repositories_GetVersionDetails,
  repositories_GetVersionUsage,
  repositories_IssueAssetDownloadUrl,
  repositories_IssueAssetUploadUrl,
  repositories_QueryAssets,
  repositories_QueryLinkedProjects,
  repositories_QueryPackages,
  repositories_QueryPackageUsage,
  repositories_QueryPackageVersions,
  repositories_RemovePackageAsset,
  repositories_RemoveS3Config,
  repositories_RemoveVersionAsset,
  repositories_ResolveName,
  repositories_ResolvePackageByPath,
  repositories_ResolveVersionAssetByPath,
  repositories_ResolveVersionByPath,
  repositories_SetDisplayName,
  repositories_SetNames,
  repositories_SetOrganization,
  repositories_SetPackageAssetMetadata,
  repositories_SetPackageKind,
  repositories_SetPackageMetadata,
  repositories_SetPackageName,
  repositories_SetS3Config,
  repositories_SetSlug,
  repositories_SetVersionAssetMetadata,
  repositories_SetVersionMetadata,
  repositories_SetVersionName,
  repositories_SetVisibility,
  repositories_TagVersion,
  repositories_TestS3Config,
  repositories_UntagVersion,
}
