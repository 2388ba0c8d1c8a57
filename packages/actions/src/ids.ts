import { z } from 'zod'
import { BASE58_CHARACTER, FLAT_LENGTH, flatText, SECRET_LENGTH } from './id-texts.ts'

function flat<const Prefix extends string>(prefix: Prefix, what: string, length = FLAT_LENGTH) {
  return z
    .string()
    .regex(flatText(prefix, length), `expected ${what}: ${prefix}_ and ${length} base-58 characters`)
    .brand<Prefix>()
}

function dated<const Prefix extends string>(prefix: Prefix, what: string) {
  return z
    .string()
    .regex(
      new RegExp(`^${prefix}_\\d{8}-\\d{4}-${BASE58_CHARACTER}{8}$`),
      `expected ${what}: ${prefix}_YYYYMMDD-HHMM- and 8 base-58 characters`,
    )
    .brand<Prefix>()
}

export const ClusterNodeId = flat('cluster_node', 'a node id')
export const UserId = flat('u', 'a user id')
export const UserTokenId = flat('u_pk', 'a user token id')
export const UserSessionId = flat('u_session_pk', 'a session id')
export const OrganizationId = flat('org', 'an organization id')
export const OrganizationInvitationId = flat('org_invite', 'an invitation id')
export const RepositoryId = flat('repo', 'a repository id')
export const RepositoryAssetId = flat('repo_a', 'an asset id')
export const PackageId = flat('pkg', 'a package id')
export const PackageVersionId = flat('pkg_v', 'a package version id')
export const ProjectId = flat('p', 'a project id')
export const DeploymentTokenId = flat('deployment_id', 'a deployment token id')
export const DeviceId = flat('d', 'a device id')
export const DeviceFingerprintId = flat('d_pk', 'a device fingerprint id')
export const DeviceCertificateId = flat('d_c', 'a certificate id')
export const DeviceBlockId = flat('d_block', 'an id of a block')
export const DeviceViewId = flat('view', 'a view id')
export const WebhookId = flat('wh', 'a webhook id')
export const BulkActionId = flat('bulk', 'an id of a bulk action')
export const DeviceConnectionId = flat('d_conn', 'a connection id')
export const DeviceOperationId = flat('d_op', 'an id of a device operation')
export const DeviceOperationWorkClaimId = flat('d_op_claim', 'an id of a claim')
export const DeviceEventId = dated('d_ev', 'a device event id')
export const AuditLogActionId = dated('audit_act', 'an audit action id')
export const AuditLogEventId = dated('audit_ev', 'an audit event id')
export const MessageId = dated('msg', 'a message id')
export const JobId = dated('job', 'a job id')

export const UserToken = flat('u_sk', 'a user token', SECRET_LENGTH)
export const UserSessionToken = flat('u_session_sk', 'a session token', SECRET_LENGTH)
export const DeploymentToken = flat('deployment', 'a deployment token', SECRET_LENGTH)
export const DeviceFingerprint = flat('d_sk', 'a device fingerprint', 44)
