// Written by `npm run gen` from the contract.

/**
 * Members that the answer of each query of the first screens must have: names of an object's members in braces, of those of a list's items in brackets.
 * A question mark follows the name of an optional member.
 */
export const REQUIRED_MEMBERS: Readonly<Record<string, string>> = {
  actor_GetActor:
    '{actor{actor} account?{users_GetDetails{userId email isAdmin} users_QueryOrganizations{organizations[organizationId name requiresSubscription]} users_QueryOrganizationInvitations{invitations[invitationId organization{organizationId name}]}}}',
  users_QueryOrganizations: '{organizations[organizationId name requiresSubscription]}',
  users_QueryOrganizationInvitations: '{invitations[invitationId organization{organizationId name}]}',
  users_GetView: '{columns?[] leftOut?[]}',
  organizations_QueryProjects:
    '{projects[projectId name] totals?{deviceCount connectedCount warningCount errorCount pendingCount warningProjects errorProjects pendingProjects}}',
  projects_GetDetails: '{projectId organizationId name deviceCount retention{eventDays} certificateRenewal}',
  projects_GetSummary:
    '{projectId deviceCount connectedCount pendingCount newestDevice?{deviceId firstSeen} bins[devices connected pending] connectedSeries?{from stepSecs counts[]} updateFailure?{deviceCount}}',
  projects_GetPins: '{properties[] projectProperties[name]}',
  projects_QueryDevices:
    '{devices[deviceId firstSeen status isConnected pendingCertificatesCount match?{field value start end}] memberColumns?[]}',
  projects_QueryDeviceCounts: '{counts[]}',
  views_Query: '{views[viewId name conditions{} columns?[] isShared isInRow mayChange createdAt changedAt]}',
}
