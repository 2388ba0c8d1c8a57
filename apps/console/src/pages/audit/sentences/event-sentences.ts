import { isOfOneself, type Said } from './entry.ts'
import type { Kind } from './kinds.ts'

/** Flags of a deployment token in an event. */
type TokenFlags = { autoAccept?: boolean; ownCertificate?: boolean } | undefined

/**
 * Kind of an event or action, and the phrase that follows the actor's name. In the phrase, `{deviceId}` stands for the object with that id
 * in the event's data, `[name]` for a value of the data, and `<propertyName>` for a value in the monospace font. `old.name` is the value
 * before the change, `actor.tokenId` an id of the actor, `origin.address` the address of the client. `{userId:old.name}` shows the
 * object with the name `old.name` instead of its current name.
 */
export type SentenceRow = { kind: Kind; say: string | ((entry: Said) => string) }

/** Phrases for audit events, by the name of the event. A test compares the names with docs/api.md 5. */
export const EVENT_SENTENCES: Record<string, SentenceRow> = {
  users_Created: { kind: 'account', say: 'created the account [email]' },
  users_Deleted: {
    kind: 'account',
    say: ({ old }) =>
      old?.email === undefined ? 'deleted the account {userId}' : 'deleted the account [old.email]',
  },
  users_SetIsAdmin: {
    kind: 'account',
    say: ({ data }) =>
      data.isAdmin
        ? 'made {userId} an administrator of the instance'
        : 'withdrew the administration of the instance from {userId}',
  },
  users_SetIsActive: {
    kind: 'account',
    say: ({ data }) => (data.isActive ? 'enabled the account {userId}' : 'disabled the account {userId}'),
  },
  users_SetPassword: {
    kind: 'account',
    say: entry => (isOfOneself(entry) ? 'changed their password' : 'set the password of {userId}'),
  },
  users_DisplayNameChanged: {
    kind: 'account',
    say: entry => {
      const before = entry.old?.displayName ? ' from [old.displayName]' : ''
      const whose = isOfOneself(entry) ? 'their display name' : 'the display name of {userId}'
      return `changed ${whose}${before} to [displayName]`
    },
  },
  users_TokenCreated: { kind: 'token', say: ({ data }) => `created the user token ${nameOrId(data)}` },
  users_TokenDeleted: { kind: 'token', say: ({ data }) => `deleted the user token ${nameOrId(data)}` },
  users_RegistrationCreated: { kind: 'account', say: 'signed up as [email]' },
  users_RegistrationEmailSent: { kind: 'account', say: 'sent the link to activate an account to [email]' },
  users_RegistrationCompleted: { kind: 'account', say: 'activated the account {userId}' },
  users_RegistrationExpired: {
    kind: 'account',
    say: 'deleted the account [email], which was not activated in time',
  },
  users_PasswordResetRequested: { kind: 'account', say: 'asked for a link to set the password of {userId}' },
  users_PasswordResetEmailSent: { kind: 'account', say: 'sent a link to set a password to [email]' },
  users_PasswordChangedEmailSent: { kind: 'account', say: 'reported a new password to [email]' },
  users_PasswordResetCompleted: { kind: 'account', say: 'set the password of {userId} with a mailed link' },
  users_SessionInitiated: { kind: 'signIn', say: entry => `signed in${from(entry)}` },
  users_SessionTerminated: {
    kind: 'signIn',
    say: entry => (isOfOneself(entry) ? 'ended a session of their own' : 'ended a session of {userId}'),
  },
  organizations_Created: { kind: 'organization', say: 'created the organization {organizationId}' },
  organizations_Deleted: {
    kind: 'organization',
    say: entry => `deleted the organization ${formerName(entry, 'organizationId')}`,
  },
  organizations_NameChanged: {
    kind: 'organization',
    say: entry => `renamed the organization ${renamed(entry)}`,
  },
  organizations_MemberAdded: {
    kind: 'member',
    say: entry => {
      if (isOfOneself(entry)) return entry.data.isAdmin ? 'joined as an administrator' : 'joined'
      return entry.data.isAdmin ? 'added {userId} as an administrator' : 'added {userId} as a member'
    },
  },
  organizations_MemberRemoved: {
    kind: 'member',
    say: entry => {
      if (isOfOneself(entry)) return 'left the organization'
      const who = entry.old?.name === undefined ? '{userId}' : '{userId:old.name}'
      return `removed ${who} from the organization`
    },
  },
  organizations_MemberAdminStatusChanged: {
    kind: 'member',
    say: ({ data }) =>
      data.isAdmin
        ? 'made {userId} an administrator of {organizationId}'
        : 'made {userId} an ordinary member of {organizationId}',
  },
  organizations_InvitationCreated: { kind: 'member', say: 'invited [email]' },
  organizations_InvitationResent: { kind: 'member', say: 'sent the invitation to [email] again' },
  organizations_InvitationEmailSent: { kind: 'member', say: 'sent the invitation to [email]' },
  organizations_InvitationDeleted: {
    kind: 'member',
    say: ({ old }) =>
      old?.email === undefined ? 'withdrew an invitation' : 'withdrew the invitation of [old.email]',
  },
  projects_Created: { kind: 'project', say: 'created the project {projectId}' },
  projects_Deleted: {
    kind: 'project',
    say: entry => `deleted the project ${formerName(entry, 'projectId')}`,
  },
  projects_PinnedPropertiesChanged: {
    kind: 'project',
    say: 'changed the pinned properties of {projectId}',
  },
  projects_NameChanged: { kind: 'project', say: entry => `renamed the project ${renamed(entry)}` },
  projects_DeploymentTokenCreated: { kind: 'token', say: 'created the token {tokenId}' },
  projects_DeploymentTokenDeleted: {
    kind: 'token',
    say: entry => `deleted the token ${formerName(entry, 'tokenId')}`,
  },
  projects_DeploymentTokenFlagsChanged: {
    kind: 'token',
    say: ({ data, old }) => {
      const flags = data.flags as TokenFlags
      const before = old?.flags as TokenFlags
      if (
        before &&
        before.autoAccept === flags?.autoAccept &&
        before.ownCertificate !== flags?.ownCertificate
      )
        return `turned the certificate of its own of the token {tokenId} ${flags?.ownCertificate ? 'on' : 'off'}`
      return `turned auto-accept of the token {tokenId} ${flags?.autoAccept ? 'on' : 'off'}`
    },
  },
  projects_DeploymentTokenLimitsChanged: { kind: 'token', say: 'changed the limits of the token {tokenId}' },
  projects_RepositoryAdded: {
    kind: 'repository',
    say: 'linked the repository {repositoryId} to {projectId}',
  },
  projects_RepositoryRemoved: {
    kind: 'repository',
    say: 'unlinked the repository {repositoryId} from {projectId}',
  },
  repositories_Created: { kind: 'repository', say: 'created the repository {repositoryId}' },
  repositories_Deleted: {
    kind: 'repository',
    say: entry => `deleted the repository ${formerName(entry, 'repositoryId')}`,
  },
  repositories_OrganizationChanged: {
    kind: 'repository',
    say: 'moved the repository {repositoryId} to {newOrganizationId}',
  },
  repositories_VisibilityChanged: {
    kind: 'repository',
    say: ({ data }) =>
      data.visibility === 'Public'
        ? 'made the repository {repositoryId} public'
        : 'made the repository {repositoryId} private',
  },
  repositories_DisplayNameChanged: {
    kind: 'repository',
    say: ({ old }) =>
      `renamed the repository ${old?.displayName === undefined ? '{repositoryId}' : '[old.displayName]'} to [displayName]`,
  },
  repositories_PublicNameChanged: {
    kind: 'repository',
    say: ({ old }) =>
      old?.publicName === undefined
        ? 'set the slug of {repositoryId} to <publicName>'
        : 'changed the slug of {repositoryId} from <old.publicName> to <publicName>',
  },
  repositories_S3ConfigChanged: {
    kind: 'repository',
    say: 'changed the storage of the repository {repositoryId}',
  },
  repositories_PackageCreated: { kind: 'repository', say: 'created the package [name] in {repositoryId}' },
  repositories_PackageDeleted: {
    kind: 'repository',
    say: entry => `deleted the package ${formerName(entry, 'packageId')} of {repositoryId}`,
  },
  repositories_PackageNameChanged: {
    kind: 'repository',
    say: entry => `renamed the package ${renamed(entry)}`,
  },
  repositories_PackageKindChanged: {
    kind: 'repository',
    say: ({ data, old }) => {
      if (data.kind === undefined) return 'cleared the kind of the package {packageId}'
      return old?.kind === undefined
        ? 'set the kind of the package {packageId} to <kind>'
        : 'changed the kind of the package {packageId} from <old.kind> to <kind>'
    },
  },
  repositories_PackageMetadataChanged: {
    kind: 'repository',
    say: 'changed the metadata of the package {packageId}',
  },
  repositories_PackageAssetAdded: {
    kind: 'repository',
    say: 'added the file <filename> to the package {packageId}',
  },
  repositories_PackageAssetRemoved: {
    kind: 'repository',
    say: 'removed the file <filename> from the package {packageId}',
  },
  repositories_PackageAssetMetadataChanged: {
    kind: 'repository',
    say: 'changed the metadata of the file <filename> of the package {packageId}',
  },
  repositories_PackageVersionCreated: { kind: 'repository', say: 'created the version {versionId}' },
  repositories_PackageVersionDeleted: {
    kind: 'repository',
    say: ({ old }) =>
      old?.name === undefined
        ? 'deleted the version {versionId} of {packageId}'
        : 'deleted the version [old.name] of {packageId}',
  },
  repositories_PackageVersionNameChanged: {
    kind: 'repository',
    say: ({ data, old }) => {
      if (data.name === undefined)
        return `removed the name ${old?.name === undefined ? '' : '[old.name] '}of the version {versionId}`
      return old?.name === undefined
        ? 'named the version {versionId} [name]'
        : 'renamed the version [old.name] to {versionId:name}'
    },
  },
  repositories_PackageVersionMetadataChanged: {
    kind: 'repository',
    say: 'changed the metadata of the version {versionId}',
  },
  repositories_PackageVersionAssetAdded: {
    kind: 'repository',
    say: 'added the file <filename> to the version {versionId}',
  },
  repositories_PackageVersionAssetRemoved: {
    kind: 'repository',
    say: 'removed the file <filename> from the version {versionId}',
  },
  repositories_PackageVersionAssetMetadataChanged: {
    kind: 'repository',
    say: 'changed the metadata of the file <filename> of the version {versionId}',
  },
  repositories_PackageVersionTagged: {
    kind: 'repository',
    say: 'tagged the version {versionId} with <tags>',
  },
  repositories_PackageVersionUntagged: {
    kind: 'repository',
    say: 'removed the tags <tags> from the version {versionId}',
  },
  repositories_AssetCreated: { kind: 'repository', say: 'registered a file in {repositoryId}' },
  repositories_AssetAvailable: { kind: 'repository', say: 'received the file {assetId} in {repositoryId}' },
  repositories_AssetDeleted: { kind: 'repository', say: 'deleted the file {assetId} of {repositoryId}' },
  devices_Created: {
    kind: 'device',
    say: entry =>
      entry.actor.actor === 'Device'
        ? `enrolled with the token {actor.tokenId}${from(entry)}`
        : 'registered the device {deviceId}',
  },
  devices_Deleted: { kind: 'device', say: 'deleted the device {deviceId}' },
  devices_NameChanged: {
    kind: 'device',
    say: ({ data, old }) => {
      if (data.name === undefined)
        return `removed the name ${old?.name === undefined ? '' : '[old.name] '}of {deviceId}`
      return old?.name === undefined
        ? 'named the device {deviceId:name}'
        : 'renamed [old.name] to {deviceId:name}'
    },
  },
  devices_PropertySet: { kind: 'property', say: 'set <propertyName> of {deviceId}' },
  devices_PropertyRemoved: { kind: 'property', say: 'removed <propertyName> of {deviceId}' },
  devices_CertificateAdded: {
    kind: 'certificate',
    say: ({ actor, data }) => {
      if (actor.actor !== 'Device') return 'added a certificate to {deviceId}'
      return data.status === 'Pending'
        ? 'connected with a new certificate, which waits for approval'
        : 'connected with its first certificate'
    },
  },
  devices_CertificateDeleted: { kind: 'certificate', say: 'deleted a certificate of {deviceId}' },
  devices_CertificateStatusChanged: {
    kind: 'certificate',
    say: ({ data }) =>
      `${CERTIFICATE_VERBS.get(data.status) ?? 'set the status [status] for'} the certificate of {deviceId}`,
  },
  devices_BulkActionStarted: {
    kind: 'device',
    say: entry => `began ${bulkWords(entry, '[itemCount]')} of {projectId}`,
  },
  devices_BulkActionCancelled: {
    kind: 'device',
    say: entry => `cancelled ${bulkWords(entry)} of {projectId} after [doneCount]`,
  },
  devices_BulkActionStopped: {
    kind: 'device',
    say: entry =>
      `stopped ${bulkWords(entry)} of {projectId} after [doneCount], because the rights of the person ended`,
  },
  devices_IdentityShared: {
    kind: 'device',
    say: 'found machines that share the identity of {deviceId}: [takeovers] takeovers in 10 minutes',
  },
  devices_PortForwarded: {
    kind: 'device',
    say: entry =>
      entry.data.hostname === undefined
        ? `forwarded port [port] of {deviceId}${from(entry)}`
        : `opened the HTTP proxy to port [port] of {deviceId}${timeOf(entry)}${from(entry)}`,
  },
  jobs_Retried: { kind: 'job', say: 'queued the job <jobId> again, <job>' },
  cluster_RebalanceStarted: { kind: 'node', say: 'asked the fullest nodes to release [deviceCount] devices' },
  cluster_RebalanceCancelled: { kind: 'node', say: 'cancelled the rebalancing of the nodes' },
  instance_BackedUp: {
    kind: 'instance',
    say: ({ data }) => (data.isVerified ? 'backed up the instance' : 'backed up the instance, not verified'),
  },
  instance_Restored: { kind: 'instance', say: 'restored the instance from the backup of [backedUpAt]' },
  instance_DatabaseMoved: { kind: 'instance', say: 'moved the database to <to>' },
  limits_Reached: { kind: 'limit', say: 'reported a limit that was reached: [message]' },
}

const CERTIFICATE_VERBS = new Map<unknown, string>([
  ['Active', 'accepted'],
  ['Rejected', 'rejected'],
  ['Revoked', 'revoked'],
])

const BULK_WORDS = new Map<unknown, [verb: string, things: string]>([
  ['Accept', ['accepting', 'certificates']],
  ['Reject', ['rejecting', 'certificates']],
  ['Delete', ['deleting', 'devices']],
])

/** A bulk action in words: "deleting [itemCount] devices". */
function bulkWords({ data }: Said, count = ''): string {
  const [verb, things] = BULK_WORDS.get(data.kind) ?? ['<kind>', 'devices']
  return [verb, count, things].filter(Boolean).join(' ')
}

function nameOrId({ name }: Said['data']): string {
  return name === undefined ? '{tokenId}' : '[name]'
}

function formerName({ old }: Said, id: string): string {
  return old?.name === undefined ? `{${id}}` : '[old.name]'
}

/** The old and the new name, or only the new one if the event does not record the old name. */
function renamed({ old }: Said): string {
  return old?.name === undefined ? 'to [name]' : '[old.name] to [name]'
}

/** Words for the client's address. Empty for users who are not administrators of the organization, because the hub omits the address. */
function from({ address }: Said): string {
  return address === undefined ? '' : ' from [origin.address]'
}

/** Validity of a link in words: " for 2 hours". */
function timeOf({ data: { validForSecs } }: Said): string {
  if (typeof validForSecs !== 'number') return ''
  const [unit, count] = UNITS.map(([name, secs]) => [name, validForSecs / secs] as const).find(([, many]) =>
    Number.isInteger(many),
  ) ?? ['second', validForSecs]
  return ` for ${count} ${unit}${count === 1 ? '' : 's'}`
}

const UNITS = [
  ['hour', 3600],
  ['minute', 60],
] as const
