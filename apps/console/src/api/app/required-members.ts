// Written by `npm run gen` from the contract.

/**
 * Members that the answer of each query must have: names of an object's members in braces, of those of a list's items in brackets. A question
 * mark follows the name of an optional member.
 */
export const REQUIRED_MEMBERS: Readonly<Record<string, string>> = {
  actor_GetActor:
    '{actor{actor} account?{users_GetDetails{userId email isAdmin} users_QueryOrganizations{organizations[organizationId name requiresSubscription]} users_QueryOrganizationInvitations{invitations[invitationId organization{organizationId name}]}}}',
  users_Query: '{users[userId email isAdmin isActive isPending createdAt]}',
  users_GetDetails: '{userId email isAdmin}',
  users_QueryOrganizations: '{organizations[organizationId name requiresSubscription]}',
  users_QueryOrganizationInvitations: '{invitations[invitationId organization{organizationId name}]}',
  users_GetView: '{columns?[] leftOut?[]}',
  users_GetDevicePermissions: '{hasAccess}',
  users_QuerySessions: '{sessions[sessionId createdAt expiresAt userAgent isCurrent]}',
  users_QueryTokens: '{tokens[tokenId createdAt]}',
  organizations_Query: '{organizations[organizationId name]}',
  organizations_QueryProjects:
    '{projects[projectId name] totals?{deviceCount connectedCount warningCount errorCount pendingCount warningProjects errorProjects pendingProjects}}',
  organizations_QueryRepositories:
    '{repositories[repositoryId name displayName publicName details?{visibility packageCount assetCount}]}',
  organizations_Search:
    '{projects[projectId name] repositories[repositoryId name displayName publicName] devices[deviceId projectId projectName isConnected status pendingCertificatesCount match{field value start end}] hasMoreDevices isCut}',
  organizations_QueryMembers: '{members[userId email isAdmin memberSince]}',
  organizations_QueryInvitations: '{invitations[invitationId email createdAt link mail?{state}]}',
  organizations_GetInvitation: '{result}',
  projects_Query: '{projects[projectId name]}',
  projects_GetDetails: '{projectId organizationId name deviceCount retention{eventDays} certificateRenewal}',
  projects_GetSummary:
    '{projectId deviceCount connectedCount pendingCount newestDevice?{deviceId firstSeen} bins[devices connected pending] connectedSeries?{from stepSecs counts[]} updateFailure?{deviceCount}}',
  projects_GetPins: '{properties[] projectProperties[name]}',
  projects_QueryDevices:
    '{devices[deviceId firstSeen status isConnected pendingCertificatesCount match?{field value start end}] memberColumns?[]}',
  projects_QueryBlockedDevices:
    '{blocks[blockId deviceId fingerprintId certificateCount blockedAt actor{actor}]}',
  projects_QueryPendingCertificates:
    '{certificates[certificateId deviceId fingerprint firstSeen groupKey known?{isConnected} sameCertificate?{deviceId} sameHostname?{deviceId}] groups[groupKey isTokenDeleted certificateCount deviceCount knownDeviceCount newAddress?{acceptedDevices addresses[] addressCount} sameNetwork?{network acceptedDevices ofDevices}] certificateIds?[] seenUntil newerCount total deviceTotal}',
  projects_QueryDeviceCounts: '{counts[]}',
  projects_QueryPropertyNames:
    '{names[path kinds[] deviceCount distinctCount] matchCount nameCount devicesRead}',
  projects_QueryPropertyValues:
    '{values[value deviceCount] distinctCount otherCount absentCount numbers?{deviceCount lowest lowerQuartile median upperQuartile highest} devicesRead}',
  projects_QueryLinkedRepositories: '{repositories[repositoryId name displayName publicName]}',
  projects_QueryDeploymentTokens:
    '{tokens[tokenId createdAt flags{autoAccept} limits{} budget{atOnce perHour left} enrolledDevices refusedDevices lastRefusal?{at reason count} lastUse?{at address}]}',
  devices_Query: '{devices[deviceId projectId isConnected]}',
  devices_GetDetails:
    '{deviceId projectId fingerprintId firstSeen isConnected lastRefusal?{at reason count} refusals[at reason address] sharedIdentity?{takeovers addresses[] firstAt lastAt} limitHits[limit message count firstAt lastAt] unregisteredLinks certificates[certificateId status fingerprint firstSeen isShared sharedWith?[deviceId status]] connections[connectionId nodeId connectedAt connectedForSecs]}',
  devices_QueryProperties: '{properties}',
  devices_GetProperty: '{result}',
  devices_QueryEvents: '{events[eventId severity emittedAt receivedAt]}',
  devices_QueryConnections: '{connections[connectionId nodeId connectedAt durationSecs]}',
  devices_GetConnectionHistory:
    '{until ticks[] recordedSecs interruptions longest?{secs startedAt} changes?{entries[entryId kind at severity type] counts?{event connection property certificate person}}}',
  devices_QueryPropertyHistory: '{changes[version isRemoved actor{actor} changedAt]}',
  devices_GetProblemRun: '{}',
  devices_QueryTimeline:
    '{entries[entryId kind at severity type] counts?{event connection property certificate person}}',
  devices_ValidateDeviceToken: '{result}',
  devices_GetPage:
    '{devices_GetDetails?[deviceId projectId fingerprintId firstSeen isConnected lastRefusal?{at reason count} refusals[at reason address] sharedIdentity?{takeovers addresses[] firstAt lastAt} limitHits[limit message count firstAt lastAt] unregisteredLinks certificates[certificateId status fingerprint firstSeen isShared sharedWith?[deviceId status]] connections[connectionId nodeId connectedAt connectedForSecs]] devices_GetProperty?[result] devices_QueryProperties?[properties] devices_QueryPropertyHistory?[changes[version isRemoved actor{actor} changedAt]] devices_QueryEvents?[events[eventId severity emittedAt receivedAt]] devices_QueryConnections?[connections[connectionId nodeId connectedAt durationSecs]] projects_GetPins?[properties[] projectProperties[name]]}',
  projects_QueryLabelKeys: '{keys[key deviceCount valueCount] keyCount}',
  projects_QueryLabelValues: '{values[value deviceCount] valueCount}',
  devices_GetBulkCounts: '{}',
  devices_GetBulkPreview:
    '{bulkActionId itemCount changeCount connectedCount leftOutCount first[deviceId isConnected changes[]] excluded[reason deviceCount first[deviceId]] sharedNameCount problems?[problem rowCount first[row key problem]]}',
  devices_QueryBulkImportProblems: '{rows[row key problem]}',
  devices_GetBulkAction:
    '{bulkActionId kind status userId createdAt itemCount succeededCount skippedCount failedCount reasons?[reason itemCount] remove?[] connectedCount tokenCount addressCount}',
  devices_QueryBulkActionItems: '{items[deviceId actor?{actor} exists isConnected changes?[]]}',
  devices_QueryOperations:
    '{operations[deviceOperationId projectId deviceId createdBy?{actor} name status stepIndex stepCount createdAt updatedAt]}',
  devices_GetOperation: '{result}',
  repositories_GetDetails:
    '{repositoryId organizationId name displayName publicName visibility packageCount versionCount assetCount}',
  repositories_GetFollowers: '{deviceCount projectCount}',
  repositories_QueryPackages:
    '{packages[packageId name createdAt latest?{versionId name createdAt tags[]} stable?{versionId name}]}',
  repositories_QueryAssets: '{assets[assetId size digest status createdAt]}',
  repositories_QueryLinkedProjects: '{projects[projectId name]}',
  repositories_GetS3Config: '{s3Config{endpoint bucket accessKeyId}}',
  repositories_ResolveName: '{result}',
  repositories_ResolvePackageByPath: '{result}',
  repositories_ResolveVersionByPath: '{result}',
  repositories_ResolveVersionsByPath: '{versions[result]}',
  repositories_ResolveVersionAssetByPath: '{result}',
  repositories_GetPackageDetails:
    '{packageId repositoryId name versionCount metadata assets[filename assetId size digest status storage?{status} metadata]}',
  repositories_QueryPackageVersions: '{versions[versionId createdAt tags[tag locked]]}',
  repositories_GetVersionDetails:
    '{versionId repositoryId packageId createdAt assets[filename assetId size digest status storage?{status} metadata] tags[tag locked] metadata}',
  repositories_GetAssetDetails: '{assetId repositoryId size digest status referenceCount storage?{status}}',
  projects_GetSoftware:
    '{projectId packages[packageId repositoryId name repositoryName deviceCount versions[versionId name createdAt tags[] running updating failed] otherVersions?{running updating failed} reported[version running updating failed] latest?{versionId name createdAt} stable?{versionId name}] packageCount reported[version running updating failed] otherReported?{running updating failed}}',
  repositories_QueryPackageUsage:
    '{packages[packageId deviceCount latest?{versionId name runs fails}] otherPackages projectCount}',
  repositories_GetVersionUsage:
    '{versionId packageId reportedAs newer?{versionId name} before?{versionId name} counts?{deviceCount runs installs fails others unknown} projects[projectId organizationId name counts?{deviceCount runs installs fails others unknown}] projectCount countedProjectCount failures[deviceCount projects[projectId deviceCount] versions[version deviceCount]] otherFailures?{reasonCount deviceCount} tags[tag locked version{versionId name} followers?{deviceCount connectedCount projects[projectId deviceCount]} before?{versionId name path}] moves[tag at isHere] series?{from stepSecs counts[] compared?{versionId name counts[]}}}',
  views_Query: '{views[viewId name conditions{} columns?[] isShared isInRow mayChange createdAt changedAt]}',
  views_Get: '{result}',
  webhooks_Query:
    '{webhooks[webhookId organizationId name format address types?[] state waitingCount droppedCount createdAt changedAt]}',
  webhooks_GetDetails:
    '{webhookId organizationId name format address types?[] state waitingCount droppedCount createdAt changedAt attemptCount successCount}',
  webhooks_QueryAttempts: '{attempts[isSuccess tookMs messageId type attempt attemptedAt]}',
  events_Query: '{events[messageId type timestamp position data cursor] cursor}',
  events_GetFeed: '{isOn}',
  instance_GetStatistics: '{users projects devices}',
  instance_GetHealth:
    '{checkedAt problems[kind level] people{value?{administrators organizations}} nodes{value?[nodeId name uptimeSecs facts?{version connections eventsPerSec disk?{freeBytes totalBytes} certificates?[names[] endsAt] bus?{kind} backup?{takenAt state} retiredSettings?[]}]} events{value?{perSec dayCount bins[startsAt perSec]}} database{value?{version sizeBytes parts[name sizeBytes] days[day sizeBytes] connections maxConnections}} jobs{value?{failedCount}} seals{value?{}} backup{value?{last?{takenAt sizeBytes isVerified file?{path state}}}}}',
  instance_QueryProjects: '{projects[projectId name organizationId organizationName deviceCount]}',
  cluster_GetDetails:
    '{nodes[nodeId status joinedAt uptimeSecs lastHeartbeat state isClockWrong release?{total done leftSecs}] formerNodes[nodeId name state endedAt]}',
  jobs_Query:
    '{jobs[jobId status job queued attempts retryDelay timeout createdAt progress?{done total} isRepeatable]}',
  jobs_GetSummary:
    '{since total counts{Pending Completed Failed Expired Cancelled} isCut kinds[job isRepeatable runs[status] failedCount failing?{since count lastJobId}]}',
  audit_QueryAuditLogEvents:
    '{events[eventId actor{actor} event data createdAt action?{actionId} job?{jobId} owners?{} seal?{sealNo sealedAt}] sealing?{newest?{sealNo sealedAt newestAt} verified?{verifiedAt sealNo isIntact}}}',
  audit_QueryAuditLogActivity:
    '{activity?{from until entryCount failureCount bins[entryCount failureCount]}}',
  audit_QueryAuditLogActions:
    '{actions[actionId actor{actor} action data status owners?{} createdAt seal?{sealNo sealedAt}] sealing?{newest?{sealNo sealedAt newestAt} verified?{verifiedAt sealNo isIntact}}}',
  organizations_QueryAuditLog:
    '{events[eventId actor{actor} event data createdAt action?{actionId} job?{jobId} owners?{} seal?{sealNo sealedAt}] sealing?{newest?{sealNo sealedAt newestAt} verified?{verifiedAt sealNo isIntact}}}',
  organizations_QueryAuditLogActivity:
    '{activity?{from until entryCount failureCount bins[entryCount failureCount]}}',
  projects_QueryAuditLog:
    '{events[eventId actor{actor} event data createdAt action?{actionId} job?{jobId} owners?{} seal?{sealNo sealedAt}] sealing?{newest?{sealNo sealedAt newestAt} verified?{verifiedAt sealNo isIntact}}}',
  projects_QueryAuditLogActivity:
    '{activity?{from until entryCount failureCount bins[entryCount failureCount]}}',
  repositories_QueryAuditLog:
    '{events[eventId actor{actor} event data createdAt action?{actionId} job?{jobId} owners?{} seal?{sealNo sealedAt}] sealing?{newest?{sealNo sealedAt newestAt} verified?{verifiedAt sealNo isIntact}}}',
  repositories_QueryAuditLogActivity:
    '{activity?{from until entryCount failureCount bins[entryCount failureCount]}}',
  devices_QueryAuditLogActivity:
    '{activity?{from until entryCount failureCount bins[entryCount failureCount]}}',
  devices_QueryAuditLog:
    '{events[eventId actor{actor} event data createdAt action?{actionId} job?{jobId} owners?{} seal?{sealNo sealedAt}] sealing?{newest?{sealNo sealedAt newestAt} verified?{verifiedAt sealNo isIntact}}}',
}
