// Written by `npm run gen` from the files below this folder.
import type { Handlers } from '../platform/pipeline/handler.ts'
import { users_AcceptOrganizationInvitation } from '../features/accounts/actions/AcceptOrganizationInvitation.ts'
import { users_ChangePassword } from '../features/accounts/actions/ChangePassword.ts'
import { users_CompletePasswordReset } from '../features/accounts/actions/CompletePasswordReset.ts'
import { users_CompleteRegistration } from '../features/accounts/actions/CompleteRegistration.ts'
import { users_Create } from '../features/accounts/actions/Create.ts'
import { users_CreateToken } from '../features/accounts/actions/CreateToken.ts'
import { users_Delete } from '../features/accounts/actions/Delete.ts'
import { users_DeleteToken } from '../features/accounts/actions/DeleteToken.ts'
import { actor_GetActor } from '../features/accounts/actions/GetActor.ts'
import { users_GetDetails } from '../features/accounts/actions/GetDetails.ts'
import { users_GetDevicePermissions } from '../features/accounts/actions/GetDevicePermissions.ts'
import { users_GetView } from '../features/accounts/actions/GetView.ts'
import { users_Query } from '../features/accounts/actions/Query.ts'
import { users_QueryOrganizationInvitations } from '../features/accounts/actions/QueryOrganizationInvitations.ts'
import { users_QueryOrganizations } from '../features/accounts/actions/QueryOrganizations.ts'
import { users_QuerySessions } from '../features/accounts/actions/QuerySessions.ts'
import { users_QueryTokens } from '../features/accounts/actions/QueryTokens.ts'
import { users_Register } from '../features/accounts/actions/Register.ts'
import { users_ResendRegistrationEmail } from '../features/accounts/actions/ResendRegistrationEmail.ts'
import { users_ResetPassword } from '../features/accounts/actions/ResetPassword.ts'
import { users_SetDisplayName } from '../features/accounts/actions/SetDisplayName.ts'
import { users_SetIsActive } from '../features/accounts/actions/SetIsActive.ts'
import { users_SetIsAdmin } from '../features/accounts/actions/SetIsAdmin.ts'
import { users_SetPassword } from '../features/accounts/actions/SetPassword.ts'
import { users_SetView } from '../features/accounts/actions/SetView.ts'
import { users_TerminateSession } from '../features/accounts/actions/TerminateSession.ts'
import { users_TerminateSessions } from '../features/accounts/actions/TerminateSessions.ts'
import { audit_QueryAuditLogActions } from '../features/audit/actions/QueryActions.ts'
import { devices_QueryAuditLogActivity } from '../features/audit/actions/QueryDeviceActivity.ts'
import { devices_QueryAuditLog } from '../features/audit/actions/QueryDevices.ts'
import { audit_QueryAuditLogActivity } from '../features/audit/actions/QueryEventActivity.ts'
import { audit_QueryAuditLogEvents } from '../features/audit/actions/QueryEvents.ts'
import { organizations_QueryAuditLogActivity } from '../features/audit/actions/QueryOrganizationActivity.ts'
import { organizations_QueryAuditLog } from '../features/audit/actions/QueryOrganizations.ts'
import { projects_QueryAuditLogActivity } from '../features/audit/actions/QueryProjectActivity.ts'
import { projects_QueryAuditLog } from '../features/audit/actions/QueryProjects.ts'
import { repositories_QueryAuditLog } from '../features/audit/actions/QueryRepositories.ts'
import { repositories_QueryAuditLogActivity } from '../features/audit/actions/QueryRepositoryActivity.ts'
import { devices_AddCertificate } from '../features/approvals/actions/AddCertificate.ts'
import { devices_CancelBulkAction } from '../features/bulk/actions/CancelBulkAction.ts'
import { devices_ClaimOperationWork } from '../features/devices/actions/ClaimOperationWork.ts'
import { devices_Create } from '../features/devices/actions/Create.ts'
import { devices_CreateBulkDecision } from '../features/bulk/actions/CreateBulkDecision.ts'
import { devices_CreateBulkDeletion } from '../features/bulk/actions/CreateBulkDeletion.ts'
import { devices_Delete } from '../features/devices/actions/Delete.ts'
import { devices_DeleteCertificate } from '../features/approvals/actions/DeleteCertificate.ts'
import { devices_GetBulkAction } from '../features/bulk/actions/GetBulkAction.ts'
import { devices_GetBulkCounts } from '../features/bulk/actions/GetBulkCounts.ts'
import { devices_GetConnectionHistory } from '../features/devices/actions/GetConnectionHistory.ts'
import { devices_GetDetails } from '../features/devices/actions/GetDetails.ts'
import { devices_GetProblemRun } from '../features/devices/actions/GetProblemRun.ts'
import { devices_GetProperty } from '../features/devices/actions/GetProperty.ts'
import { devices_IssueDeviceToken } from '../features/devices/actions/IssueDeviceToken.ts'
import { devices_IssueHttpProxyToken } from '../features/devices/actions/IssueHttpProxyToken.ts'
import { devices_PublishEvents } from '../features/devices/actions/PublishEvents.ts'
import { devices_Query } from '../features/devices/actions/Query.ts'
import { devices_QueryBulkActionItems } from '../features/bulk/actions/QueryBulkActionItems.ts'
import { devices_QueryConnections } from '../features/devices/actions/QueryConnections.ts'
import { devices_QueryEvents } from '../features/devices/actions/QueryEvents.ts'
import { devices_QueryProperties } from '../features/devices/actions/QueryProperties.ts'
import { devices_QueryPropertyHistory } from '../features/devices/actions/QueryPropertyHistory.ts'
import { devices_QueryTimeline } from '../features/timeline/actions/QueryTimeline.ts'
import { devices_RemoveProperty } from '../features/devices/actions/RemoveProperty.ts'
import { devices_SetCertificateStatus } from '../features/approvals/actions/SetCertificateStatus.ts'
import { devices_SetName } from '../features/devices/actions/SetName.ts'
import { devices_SetProperty } from '../features/devices/actions/SetProperty.ts'
import { devices_StartBulkDecision } from '../features/bulk/actions/StartBulkDecision.ts'
import { devices_StartBulkDeletion } from '../features/bulk/actions/StartBulkDeletion.ts'
import { devices_ValidateDeviceToken } from '../features/devices/actions/ValidateDeviceToken.ts'
import { cluster_CancelRebalance } from '../features/instance/actions/CancelRebalance.ts'
import { cluster_GetDetails } from '../features/instance/actions/GetClusterDetails.ts'
import { instance_GetHealth } from '../features/instance/actions/GetHealth.ts'
import { jobs_GetSummary } from '../features/instance/actions/GetJobSummary.ts'
import { instance_GetStatistics } from '../features/instance/actions/GetStatistics.ts'
import { jobs_Query } from '../features/instance/actions/QueryJobs.ts'
import { instance_QueryProjects } from '../features/instance/actions/QueryProjects.ts'
import { jobs_Retry } from '../features/instance/actions/RetryJob.ts'
import { cluster_StartRebalance } from '../features/instance/actions/StartRebalance.ts'
import { organizations_AddMember } from '../features/organizations/actions/AddMember.ts'
import { organizations_Create } from '../features/organizations/actions/Create.ts'
import { organizations_Delete } from '../features/organizations/actions/Delete.ts'
import { organizations_DeleteInvitation } from '../features/organizations/actions/DeleteInvitation.ts'
import { organizations_GetInvitation } from '../features/organizations/actions/GetInvitation.ts'
import { organizations_InviteMember } from '../features/organizations/actions/InviteMember.ts'
import { organizations_Query } from '../features/organizations/actions/Query.ts'
import { organizations_QueryInvitations } from '../features/organizations/actions/QueryInvitations.ts'
import { organizations_QueryMembers } from '../features/organizations/actions/QueryMembers.ts'
import { organizations_QueryProjects } from '../features/organizations/actions/QueryProjects.ts'
import { organizations_QueryRepositories } from '../features/organizations/actions/QueryRepositories.ts'
import { organizations_RemoveMember } from '../features/organizations/actions/RemoveMember.ts'
import { organizations_ResendInvitation } from '../features/organizations/actions/ResendInvitation.ts'
import { organizations_Search } from '../features/organizations/actions/Search.ts'
import { organizations_SetMemberIsAdmin } from '../features/organizations/actions/SetMemberIsAdmin.ts'
import { organizations_SetName } from '../features/organizations/actions/SetName.ts'
import { projects_Create } from '../features/projects/actions/Create.ts'
import { projects_CreateDeploymentToken } from '../features/projects/actions/CreateDeploymentToken.ts'
import { projects_Delete } from '../features/projects/actions/Delete.ts'
import { projects_DeleteDeploymentToken } from '../features/projects/actions/DeleteDeploymentToken.ts'
import { projects_GetDetails } from '../features/projects/actions/GetDetails.ts'
import { projects_GetPins } from '../features/projects/actions/GetPins.ts'
import { projects_GetSoftware } from '../features/software/actions/GetSoftware.ts'
import { projects_GetSummary } from '../features/projects/actions/GetSummary.ts'
import { projects_LinkRepository } from '../features/projects/actions/LinkRepository.ts'
import { projects_Query } from '../features/projects/actions/Query.ts'
import { projects_QueryDeploymentTokens } from '../features/projects/actions/QueryDeploymentTokens.ts'
import { projects_QueryDeviceCounts } from '../features/devices/actions/QueryDeviceCounts.ts'
import { projects_QueryDevices } from '../features/devices/actions/QueryDevices.ts'
import { projects_QueryLinkedRepositories } from '../features/projects/actions/QueryLinkedRepositories.ts'
import { projects_QueryPendingCertificates } from '../features/approvals/actions/QueryPendingCertificates.ts'
import { projects_QueryPropertyNames } from '../features/devices/actions/QueryPropertyNames.ts'
import { projects_QueryPropertyValues } from '../features/devices/actions/QueryPropertyValues.ts'
import { projects_SetDeploymentTokenFlags } from '../features/projects/actions/SetDeploymentTokenFlags.ts'
import { projects_SetDeploymentTokenLimits } from '../features/projects/actions/SetDeploymentTokenLimits.ts'
import { projects_SetName } from '../features/projects/actions/SetName.ts'
import { projects_SetPinnedProperties } from '../features/projects/actions/SetPinnedProperties.ts'
import { projects_SetPins } from '../features/projects/actions/SetPins.ts'
import { projects_UnlinkRepository } from '../features/projects/actions/UnlinkRepository.ts'
import { repositories_AddPackageAsset } from '../features/repositories/actions/AddPackageAsset.ts'
import { repositories_AddVersionAsset } from '../features/repositories/actions/AddVersionAsset.ts'
import { repositories_Create } from '../features/repositories/actions/Create.ts'
import { repositories_CreateAsset } from '../features/repositories/actions/CreateAsset.ts'
import { repositories_CreatePackage } from '../features/repositories/actions/CreatePackage.ts'
import { repositories_CreateVersion } from '../features/repositories/actions/CreateVersion.ts'
import { repositories_Delete } from '../features/repositories/actions/Delete.ts'
import { repositories_DeleteAsset } from '../features/repositories/actions/DeleteAsset.ts'
import { repositories_DeletePackage } from '../features/repositories/actions/DeletePackage.ts'
import { repositories_DeleteVersion } from '../features/repositories/actions/DeleteVersion.ts'
import { repositories_FinalizeAssetUpload } from '../features/repositories/actions/FinalizeAssetUpload.ts'
import { repositories_GetAssetDetails } from '../features/repositories/actions/GetAssetDetails.ts'
import { repositories_GetDetails } from '../features/repositories/actions/GetDetails.ts'
import { repositories_GetFollowers } from '../features/repositories/actions/GetFollowers.ts'
import { repositories_GetPackageDetails } from '../features/repositories/actions/GetPackageDetails.ts'
import { repositories_GetS3Config } from '../features/repositories/actions/GetS3Config.ts'
import { repositories_GetVersionDetails } from '../features/repositories/actions/GetVersionDetails.ts'
import { repositories_GetVersionUsage } from '../features/software/actions/GetVersionUsage.ts'
import { repositories_IssueAssetDownloadUrl } from '../features/repositories/actions/IssueAssetDownloadUrl.ts'
import { repositories_IssueAssetUploadUrl } from '../features/repositories/actions/IssueAssetUploadUrl.ts'
import { repositories_QueryAssets } from '../features/repositories/actions/QueryAssets.ts'
import { repositories_QueryLinkedProjects } from '../features/repositories/actions/QueryLinkedProjects.ts'
import { repositories_QueryPackages } from '../features/repositories/actions/QueryPackages.ts'
import { repositories_QueryPackageUsage } from '../features/software/actions/QueryPackageUsage.ts'
import { repositories_QueryPackageVersions } from '../features/repositories/actions/QueryPackageVersions.ts'
import { repositories_RemovePackageAsset } from '../features/repositories/actions/RemovePackageAsset.ts'
import { repositories_RemoveS3Config } from '../features/repositories/actions/RemoveS3Config.ts'
import { repositories_RemoveVersionAsset } from '../features/repositories/actions/RemoveVersionAsset.ts'
import { repositories_ResolveName } from '../features/repositories/actions/ResolveName.ts'
import { repositories_ResolvePackageByPath } from '../features/repositories/actions/ResolvePackageByPath.ts'
import { repositories_ResolveVersionAssetByPath } from '../features/repositories/actions/ResolveVersionAssetByPath.ts'
import { repositories_ResolveVersionByPath } from '../features/repositories/actions/ResolveVersionByPath.ts'
import { repositories_SetDisplayName } from '../features/repositories/actions/SetDisplayName.ts'
import { repositories_SetNames } from '../features/repositories/actions/SetNames.ts'
import { repositories_SetOrganization } from '../features/repositories/actions/SetOrganization.ts'
import { repositories_SetPackageAssetMetadata } from '../features/repositories/actions/SetPackageAssetMetadata.ts'
import { repositories_SetPackageKind } from '../features/repositories/actions/SetPackageKind.ts'
import { repositories_SetPackageMetadata } from '../features/repositories/actions/SetPackageMetadata.ts'
import { repositories_SetPackageName } from '../features/repositories/actions/SetPackageName.ts'
import { repositories_SetS3Config } from '../features/repositories/actions/SetS3Config.ts'
import { repositories_SetSlug } from '../features/repositories/actions/SetSlug.ts'
import { repositories_SetVersionAssetMetadata } from '../features/repositories/actions/SetVersionAssetMetadata.ts'
import { repositories_SetVersionMetadata } from '../features/repositories/actions/SetVersionMetadata.ts'
import { repositories_SetVersionName } from '../features/repositories/actions/SetVersionName.ts'
import { repositories_SetVisibility } from '../features/repositories/actions/SetVisibility.ts'
import { repositories_TagVersion } from '../features/repositories/actions/TagVersion.ts'
import { repositories_TestS3Config } from '../features/repositories/actions/TestS3Config.ts'
import { repositories_UntagVersion } from '../features/repositories/actions/UntagVersion.ts'

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
