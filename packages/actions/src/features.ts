// Written by `npm run gen` from the features of the hub.
import type { LimitSubject } from './limits.ts'
import type { ParsedInput } from './registry.ts'

/** Names of the actions of each feature of the hub. */
export type FeatureActions = {
  accounts:
    | 'users_AcceptOrganizationInvitation'
    | 'users_ChangePassword'
    | 'users_CompleteEmailChange'
    | 'users_CompletePasswordReset'
    | 'users_CompleteRegistration'
    | 'users_Create'
    | 'users_CreateToken'
    | 'users_Delete'
    | 'users_DeleteToken'
    | 'actor_GetActor'
    | 'users_GetDetails'
    | 'users_GetDevicePermissions'
    | 'users_GetView'
    | 'users_InitiateEmailChange'
    | 'users_Query'
    | 'users_QueryOrganizationInvitations'
    | 'users_QueryOrganizations'
    | 'users_QuerySessions'
    | 'users_QueryTokens'
    | 'users_Register'
    | 'users_ResendRegistrationEmail'
    | 'users_ResetPassword'
    | 'users_SetDisplayName'
    | 'users_SetEmail'
    | 'users_SetIsActive'
    | 'users_SetIsAdmin'
    | 'users_SetPassword'
    | 'users_SetView'
    | 'users_TerminateSession'
    | 'users_TerminateSessions'
  approvals:
    | 'devices_AddCertificate'
    | 'devices_DeleteCertificate'
    | 'projects_QueryPendingCertificates'
    | 'devices_SetCertificateStatus'
  audit:
    | 'audit_QueryAuditLogActions'
    | 'devices_QueryAuditLogActivity'
    | 'devices_QueryAuditLog'
    | 'audit_QueryAuditLogActivity'
    | 'audit_QueryAuditLogEvents'
    | 'organizations_QueryAuditLogActivity'
    | 'organizations_QueryAuditLog'
    | 'projects_QueryAuditLogActivity'
    | 'projects_QueryAuditLog'
    | 'repositories_QueryAuditLog'
    | 'repositories_QueryAuditLogActivity'
  bulk:
    | 'devices_AddBulkImportRows'
    | 'devices_CancelBulkAction'
    | 'devices_CreateBulkDecision'
    | 'devices_CreateBulkDeletion'
    | 'devices_CreateBulkImport'
    | 'devices_CreateBulkLabels'
    | 'devices_CreateBulkRename'
    | 'devices_GetBulkAction'
    | 'devices_GetBulkCounts'
    | 'devices_GetBulkPreview'
    | 'devices_QueryBulkActionItems'
    | 'devices_QueryBulkImportProblems'
    | 'devices_StartBulkChange'
    | 'devices_StartBulkDecision'
    | 'devices_StartBulkDeletion'
    | 'devices_StartBulkUndo'
  devices:
    | 'devices_Block'
    | 'devices_Create'
    | 'devices_Delete'
    | 'devices_GetConnectionHistory'
    | 'devices_GetDetails'
    | 'devices_GetPage'
    | 'devices_GetProblemRun'
    | 'devices_GetProperty'
    | 'devices_IssueDeviceToken'
    | 'devices_IssueHttpProxyToken'
    | 'devices_PublishEvents'
    | 'devices_Query'
    | 'projects_QueryBlockedDevices'
    | 'devices_QueryConnections'
    | 'projects_QueryDeviceCounts'
    | 'projects_QueryDevices'
    | 'devices_QueryEvents'
    | 'devices_QueryProperties'
    | 'devices_QueryPropertyHistory'
    | 'projects_QueryPropertyNames'
    | 'projects_QueryPropertyValues'
    | 'devices_RemoveProperty'
    | 'devices_SetName'
    | 'devices_SetProperty'
    | 'projects_UnblockDevice'
    | 'devices_ValidateDeviceToken'
  instance:
    | 'cluster_CancelRebalance'
    | 'cluster_GetDetails'
    | 'instance_GetHealth'
    | 'jobs_GetSummary'
    | 'instance_GetStatistics'
    | 'jobs_Query'
    | 'instance_QueryProjects'
    | 'jobs_Retry'
    | 'cluster_StartRebalance'
  labels: 'projects_QueryLabelKeys' | 'projects_QueryLabelValues' | 'devices_SetLabels'
  operations:
    | 'devices_CancelOperation'
    | 'devices_ClaimOperationWork'
    | 'devices_CreateOperation'
    | 'devices_GetOperation'
    | 'devices_QueryOperations'
    | 'devices_ReportOperationStep'
    | 'devices_StartOperation'
  organizations:
    | 'organizations_AddMember'
    | 'organizations_Create'
    | 'organizations_Delete'
    | 'organizations_DeleteInvitation'
    | 'organizations_GetInvitation'
    | 'organizations_InviteMember'
    | 'organizations_Query'
    | 'organizations_QueryInvitations'
    | 'organizations_QueryMembers'
    | 'organizations_QueryProjects'
    | 'organizations_QueryRepositories'
    | 'organizations_RemoveMember'
    | 'organizations_ResendInvitation'
    | 'organizations_Search'
    | 'organizations_SetMemberIsAdmin'
    | 'organizations_SetName'
  projects:
    | 'projects_Create'
    | 'projects_CreateDeploymentToken'
    | 'projects_Delete'
    | 'projects_DeleteDeploymentToken'
    | 'projects_GetDetails'
    | 'projects_GetPins'
    | 'projects_GetSummary'
    | 'projects_LinkRepository'
    | 'projects_Query'
    | 'projects_QueryDeploymentTokens'
    | 'projects_QueryLinkedRepositories'
    | 'projects_SetCertificateRenewal'
    | 'projects_SetDeploymentTokenFlags'
    | 'projects_SetDeploymentTokenLabels'
    | 'projects_SetDeploymentTokenLimits'
    | 'projects_SetName'
    | 'projects_SetPinnedProperties'
    | 'projects_SetPins'
    | 'projects_UnlinkRepository'
  repositories:
    | 'repositories_AddPackageAsset'
    | 'repositories_AddVersionAsset'
    | 'repositories_Create'
    | 'repositories_CreateAsset'
    | 'repositories_CreatePackage'
    | 'repositories_CreateVersion'
    | 'repositories_Delete'
    | 'repositories_DeleteAsset'
    | 'repositories_DeletePackage'
    | 'repositories_DeleteVersion'
    | 'repositories_FinalizeAssetUpload'
    | 'repositories_GetAssetDetails'
    | 'repositories_GetDetails'
    | 'repositories_GetFollowers'
    | 'repositories_GetPackageDetails'
    | 'repositories_GetS3Config'
    | 'repositories_GetVersionDetails'
    | 'repositories_IssueAssetDownloadUrl'
    | 'repositories_IssueAssetUploadUrl'
    | 'repositories_QueryAssets'
    | 'repositories_QueryLinkedProjects'
    | 'repositories_QueryPackages'
    | 'repositories_QueryPackageVersions'
    | 'repositories_RemovePackageAsset'
    | 'repositories_RemoveS3Config'
    | 'repositories_RemoveVersionAsset'
    | 'repositories_ResolveName'
    | 'repositories_ResolvePackageByPath'
    | 'repositories_ResolveVersionAssetByPath'
    | 'repositories_ResolveVersionByPath'
    | 'repositories_ResolveVersionsByPath'
    | 'repositories_SetDisplayName'
    | 'repositories_SetNames'
    | 'repositories_SetOrganization'
    | 'repositories_SetPackageAssetMetadata'
    | 'repositories_SetPackageKind'
    | 'repositories_SetPackageMetadata'
    | 'repositories_SetPackageName'
    | 'repositories_SetS3Config'
    | 'repositories_SetSlug'
    | 'repositories_SetVersionAssetMetadata'
    | 'repositories_SetVersionMetadata'
    | 'repositories_SetVersionName'
    | 'repositories_SetVisibility'
    | 'repositories_TagVersion'
    | 'repositories_TestS3Config'
    | 'repositories_UntagVersion'
  software: 'projects_GetSoftware' | 'repositories_GetVersionUsage' | 'repositories_QueryPackageUsage'
  timeline: 'devices_QueryTimeline'
  views: 'views_Create' | 'views_Delete' | 'views_Get' | 'views_Query' | 'views_Set'
  webhooks:
    | 'webhooks_Create'
    | 'webhooks_Delete'
    | 'webhooks_GetDetails'
    | 'events_GetFeed'
    | 'webhooks_Query'
    | 'webhooks_QueryAttempts'
    | 'events_Query'
    | 'webhooks_ResendFailed'
    | 'webhooks_ResendMessage'
    | 'webhooks_ResetSecret'
    | 'webhooks_Set'
    | 'events_SetFeed'
    | 'webhooks_StartDelivery'
    | 'webhooks_Test'
}

/** Names of the background jobs of each feature of the hub. */
export type FeatureJobs = {
  accounts:
    | 'users_FillCanonicalEmails'
    | 'users_SendEmailChangedEmail'
    | 'users_SendEmailChangeEmail'
    | 'users_SendEmailChangeNotice'
    | 'users_SendPasswordChangedEmail'
    | 'users_SendPasswordEmail'
    | 'users_SendRegistrationEmail'
  audit: 'audit_RemoveSealed' | 'audit_SealRows' | 'audit_VerifySeals'
  bulk: 'devices_RunBulkActions'
  devices:
    | 'devices_FillAddresses'
    | 'devices_FillNameKeys'
    | 'devices_FillUpdates'
    | 'devices_MeasureStored'
    | 'projects_SampleConnected'
    | 'devices_SweepHistory'
  instance: 'instance_CleanupExpired' | 'instance_MaintainPartitions' | 'instance_SampleSize'
  labels: 'devices_MoveReportedLabels'
  operations: 'devices_RunOperations'
  organizations: 'organizations_SendInvitationEmail'
  repositories: 'repositories_SweepBlobs'
  software: 'projects_SampleSoftware'
  webhooks: 'webhooks_MaintainOutbox' | 'webhooks_SendOffEmail'
}

/** Data of the audit events of each feature of the hub, by the name of the event. */
export type FeatureEvents = {
  accounts: {
    users_Created: { userId: string; email: string }
    users_Deleted: { userId: string }
    users_SetIsAdmin: { userId: string; isAdmin: boolean }
    users_SetIsActive: { userId: string; isActive: boolean }
    users_SetPassword: { userId: string }
    users_DisplayNameChanged: { userId: string; displayName: string }
    users_EmailChangeRequested: { userId: string; newEmail: string }
    users_EmailChangeEmailSent: { userId: string; email: string }
    users_EmailChangeNoticeSent: { userId: string; email: string }
    users_EmailChanged: { userId: string; email: string }
    users_EmailChangedEmailSent: { userId: string; email: string }
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
  }
  approvals: {
    devices_CertificateAdded: {
      projectId: string
      deviceId: string
      certificateId: string
      status: string
      /** Certificate with which the device itself announced this one. */
      predecessorId?: string
      /** Another device on which the certificate is active, if it is `Pending` for that reason. */
      activeOnDeviceId?: string
    }
    devices_CertificateDeleted: { projectId: string; deviceId: string; certificateId: string }
    devices_CertificateStatusChanged: {
      projectId: string
      deviceId: string
      certificateId: string
      status: string
    }
  }
  bulk: {
    devices_BulkActionStarted: {
      projectId: string
      bulkActionId: string
      kind: string
      itemCount: number
    }
    devices_BulkActionCancelled: {
      projectId: string
      bulkActionId: string
      kind: string
      doneCount: number
    }
    devices_BulkActionStopped: {
      projectId: string
      bulkActionId: string
      kind: string
      doneCount: number
    }
  }
  devices: {
    devices_Created: { deviceId: string; projectId: string }
    devices_Deleted: { deviceId: string; projectId: string }
    devices_Blocked: {
      projectId: string
      deviceId: string
      blockId: string
      certificateCount: number
      sharedCertificateCount: number
    }
    projects_DeviceUnblocked: { projectId: string; deviceId: string; blockId: string }
    devices_NameChanged: { projectId: string; deviceId: string; name?: string }
    devices_PropertySet: { projectId: string; deviceId: string; propertyName: string }
    devices_PropertyRemoved: { projectId: string; deviceId: string; propertyName: string }
    devices_IdentityShared: {
      projectId: string
      deviceId: string
      takeovers: number
      addresses: string[]
    }
    devices_PortForwarded: {
      projectId: string
      deviceId: string
      port: number
      hostname?: string
      validForSecs?: number
    }
  }
  instance: {
    jobs_Retried: { jobId: string; job: string }
    cluster_RebalanceStarted: { nodeIds: string[]; deviceCount: number }
    cluster_RebalanceCancelled: { nodeIds: string[] }
    instance_BackedUp: { sizeBytes: number; isVerified: boolean; hasBlobs: boolean; hasKey: boolean }
    instance_Restored: {
      backedUpAt: string
      sessionCount: number
      jobIds: string[]
      bulkActionIds: string[]
      webhookIds: string[]
      deviceOperationIds: string[]
    }
    instance_DatabaseMoved: { to: string }
    limits_Reached: LimitSubject & { limit: string; count: number; message: string }
  }
  labels: {
    devices_LabelSet: { projectId: string; deviceId: string; key: string; value: string }
    devices_LabelRemoved: { projectId: string; deviceId: string; key: string }
    devices_ReportedLabelsMoved: { projectId: string; deviceId: string }
  }
  operations: {
    devices_OperationCreated: {
      projectId: string
      deviceId: string
      deviceOperationId: string
      name: string
      stepCount: number
    }
    devices_OperationStarted: {
      projectId: string
      deviceId: string
      deviceOperationId: string
      name: string
    }
    devices_OperationCancelled: {
      projectId: string
      deviceId: string
      deviceOperationId: string
      name: string
    }
    devices_OperationEnded: {
      projectId: string
      deviceId: string
      deviceOperationId: string
      name: string
      status: string
      error?: string
    }
  }
  organizations: {
    organizations_Created: { organizationId: string }
    organizations_Deleted: { organizationId: string }
    organizations_NameChanged: { organizationId: string; name: string }
    organizations_MemberAdded: { organizationId: string; userId: string; isAdmin: boolean }
    organizations_MemberRemoved: { organizationId: string; userId: string }
    organizations_MemberAdminStatusChanged: { organizationId: string; userId: string; isAdmin: boolean }
    organizations_InvitationCreated: { organizationId: string; invitationId: string; email: string }
    organizations_InvitationResent: { organizationId: string; invitationId: string; email: string }
    organizations_InvitationEmailSent: { organizationId: string; invitationId: string; email: string }
    organizations_InvitationDeleted: { organizationId: string; invitationId: string }
  }
  projects: {
    projects_Created: { projectId: string }
    projects_Deleted: { projectId: string }
    projects_PinnedPropertiesChanged: {
      projectId: string
      properties: { name: string; label?: string | undefined }[]
    }
    projects_NameChanged: { projectId: string; name: string }
    projects_CertificateRenewalChanged: { projectId: string; isAllowed: boolean }
    projects_DeploymentTokenCreated: {
      projectId: string
      tokenId: string
      flags: { autoAccept: boolean; ownCertificate?: boolean }
    }
    projects_DeploymentTokenDeleted: { projectId: string; tokenId: string }
    projects_DeploymentTokenFlagsChanged: {
      projectId: string
      tokenId: string
      flags: { autoAccept: boolean; ownCertificate?: boolean }
    }
    projects_DeploymentTokenLabelsChanged: {
      projectId: string
      tokenId: string
      labels: ParsedInput<'projects_SetDeploymentTokenLabels'>['labels']
    }
    projects_DeploymentTokenLimitsChanged: {
      projectId: string
      tokenId: string
      limits: ParsedInput<'projects_SetDeploymentTokenLimits'>['limits']
    }
    projects_RepositoryAdded: { projectId: string; repositoryId: string }
    projects_RepositoryRemoved: { projectId: string; repositoryId: string }
  }
  repositories: {
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
    repositories_PackageAssetMetadataChanged: {
      repositoryId: string
      packageId: string
      filename: string
    }
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
    repositories_PackageVersionAssetRemoved: {
      repositoryId: string
      versionId: string
      filename: string
    }
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
  }
  views: {
    views_Created: { projectId: string; viewId: string; name: string }
    views_Changed: { projectId: string; viewId: string; name: string; isShared: boolean }
    views_Deleted: { projectId: string; viewId: string }
  }
  webhooks: {
    events_FeedChanged: { organizationId: string; isOn: boolean }
    webhooks_Created: {
      organizationId: string
      projectId?: string
      webhookId: string
      name: string
      format: string
      address: string
    }
    webhooks_Changed: {
      organizationId: string
      webhookId: string
      name: string
      address: string
      types?: string[]
      isOn: boolean
    }
    webhooks_Deleted: { organizationId: string; webhookId: string; name: string }
    webhooks_Tested: { organizationId: string; webhookId: string; name: string; status?: number }
    webhooks_SecretReset: { organizationId: string; webhookId: string; name: string }
    webhooks_MessagesResent: {
      organizationId: string
      webhookId: string
      name: string
      messageCount: number
    }
    webhooks_DeliveryStarted: {
      organizationId: string
      webhookId: string
      name: string
      waiting: string
    }
    webhooks_TurnedOff: {
      organizationId: string
      webhookId: string
      name: string
      reason: string
    }
    webhooks_OffEmailSent: { organizationId: string; webhookId: string; userId: string }
  }
}

/** Data of all audit events, by the name of the event. */
export type AuditEvents = FeatureEvents['accounts'] &
  FeatureEvents['approvals'] &
  FeatureEvents['bulk'] &
  FeatureEvents['devices'] &
  FeatureEvents['instance'] &
  FeatureEvents['labels'] &
  FeatureEvents['operations'] &
  FeatureEvents['organizations'] &
  FeatureEvents['projects'] &
  FeatureEvents['repositories'] &
  FeatureEvents['views'] &
  FeatureEvents['webhooks']
