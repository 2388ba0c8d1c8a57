import { randomBytes } from 'node:crypto'
import {
  BULK_CHANGE_KINDS,
  type BulkActionKind,
  newDatedId,
  newId,
  publicIdOf,
  randomBase58,
} from '@muster/actions'
import { hashSecret } from '@muster/hub/secrets'
import { assetRow, deviceRow, randomFingerprint } from '../rows.ts'
import type { TestHub } from '../test-hub.ts'
import type { Person, RepositoryIds, World } from './row.ts'

export function someEvent() {
  return {
    eventId: newDatedId('d_ev'),
    severity: 'Info' as const,
    body: 'hello',
    attributes: {},
    emittedAt: new Date().toISOString(),
  }
}

export function newFingerprint(): string {
  return `d_sk_${randomBase58(44)}`
}

export function newDigest(): string {
  return `sha256_${randomBytes(32).toString('hex')}`
}

/** A random name that is valid in a path. */
export function newName(): string {
  return randomBase58(12)
}

export function newEmail(): string {
  return `${newId('u')}@test.example`
}

/** Inserts an account without a password and, if `organizationId` is given, its membership. */
export async function anotherPerson(
  { hub }: World,
  organizationId?: string,
  { isAdmin = false, isOrganizationAdmin = false } = {},
): Promise<Person> {
  const userId = newId('u')
  const email = newEmail()
  await hub.db.insertInto('user').values({ user_id: userId, email, is_admin: isAdmin }).execute()
  if (organizationId !== undefined) {
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: userId, is_admin: isOrganizationAdmin })
      .execute()
  }
  return { userId, email }
}

/**
 * Inserts an organization. Its members are the administrator of the organization in `World` and, if given, `person`. Each has the
 * same role as in the organization of `World`.
 */
export async function anotherOrganization(
  { hub, people, organizationId: like }: World,
  person?: Person,
): Promise<string> {
  const organizationId = newId('org')
  await hub.pool.query(`insert into organization (organization_id, name) values ($1, 'Other')`, [
    organizationId,
  ])
  await hub.pool.query(
    `insert into organization_member (organization_id, user_id, is_admin)
     select $1, user_id, is_admin from organization_member where organization_id = $2 and user_id = any ($3)`,
    [organizationId, like, [people.organizationAdmin.userId, person?.userId]],
  )
  return organizationId
}

export async function anotherInvitation(
  { hub }: World,
  organizationId: string,
  email: string,
): Promise<string> {
  const invitationId = newId('org_invite')
  await hub.db
    .insertInto('organization_invitation')
    .values({ invitation_id: invitationId, organization_id: organizationId, email })
    .execute()
  return invitationId
}

export async function newRepository(
  hub: TestHub,
  organizationId: string,
  visibility: 'Public' | 'Private' = 'Private',
): Promise<string> {
  const repositoryId = newId('repo')
  await hub.db
    .insertInto('repository')
    .values({
      repository_id: repositoryId,
      organization_id: organizationId,
      display_name: 'Firmware',
      visibility,
    })
    .execute()
  return repositoryId
}

export async function newPackage(hub: TestHub, repositoryId: string): Promise<string> {
  const packageId = newId('pkg')
  await hub.db
    .insertInto('package')
    .values({ package_id: packageId, repository_id: repositoryId, name: newName() })
    .execute()
  return packageId
}

export async function newVersion(hub: TestHub, packageId: string): Promise<string> {
  const versionId = newId('pkg_v')
  await hub.db
    .insertInto('package_version')
    .values({ version_id: versionId, package_id: packageId })
    .execute()
  return versionId
}

export async function newVersionFile({ hub, versionId, assetId }: World): Promise<string> {
  const filename = newName()
  await hub.db
    .insertInto('version_asset')
    .values({ version_id: versionId, asset_id: assetId, filename })
    .execute()
  return filename
}

export async function newPackageFile({ hub, packageId, assetId }: World): Promise<string> {
  const filename = newName()
  await hub.db
    .insertInto('package_asset')
    .values({ package_id: packageId, asset_id: assetId, filename })
    .execute()
  return filename
}

export async function filledRepository(
  hub: TestHub,
  organizationId: string,
  visibility: 'Public' | 'Private' = 'Private',
): Promise<RepositoryIds> {
  const repositoryId = await newRepository(hub, organizationId, visibility)
  const packageId = await newPackage(hub, repositoryId)
  const versionId = await newVersion(hub, packageId)
  return { repositoryId, packageId, versionId, assetId: await assetRow(hub, repositoryId) }
}

export async function linkRepository({ hub, projectId }: World, repositoryId: string): Promise<void> {
  await hub.db
    .insertInto('project_repository')
    .values({ project_id: projectId, repository_id: repositoryId })
    .execute()
}

export async function anotherProject({ hub, organizationId }: World): Promise<string> {
  const projectId = newId('p')
  await hub.db
    .insertInto('project')
    .values({ project_id: projectId, organization_id: organizationId, name: 'Other' })
    .execute()
  return projectId
}

export async function anotherToken({ hub, projectId }: World): Promise<string> {
  const token = newId('deployment')
  const tokenId = publicIdOf(token)
  await hub.db
    .insertInto('deployment_token')
    .values({ token_id: tokenId, token_hash: hashSecret(token), project_id: projectId, name: 'Other' })
    .execute()
  return tokenId
}

export async function anotherCertificate(
  { hub, ...world }: World,
  deviceId = world.deviceId,
): Promise<string> {
  const certificateId = newId('d_c')
  await hub.db
    .insertInto('device_certificate')
    .values({
      certificate_id: certificateId,
      device_id: deviceId,
      fingerprint: randomFingerprint(),
      status: 'Pending',
    })
    .execute()
  return certificateId
}

/**
 * Inserts a prepared bulk action of a person on one device. For a decision, the device has a pending certificate. Resolves to the id of
 * the bulk action.
 */
export async function bulkActionRow(
  hub: TestHub,
  projectId: string,
  userId: string,
  kind: BulkActionKind = 'Accept',
): Promise<string> {
  const bulkActionId = newId('bulk')
  const deviceId = await deviceRow(hub, projectId)
  const isChange = BULK_CHANGE_KINDS.some(name => name === kind)
  const certificateId = kind === 'Accept' || kind === 'Reject' ? newId('d_c') : null
  if (certificateId !== null)
    await hub.db
      .insertInto('device_certificate')
      .values({
        certificate_id: certificateId,
        device_id: deviceId,
        fingerprint: randomFingerprint(),
        status: 'Pending',
      })
      .execute()
  await hub.db
    .insertInto('bulk_action')
    .values({
      bulk_action_id: bulkActionId,
      project_id: projectId,
      kind,
      user_id: userId,
      session_id: 'none',
      item_count: 1,
      ...(kind === 'Import' && { change: JSON.stringify({ by: 'id', columns: ['name'] }), row_count: 1 }),
    })
    .execute()
  await hub.db
    .insertInto('bulk_action_item')
    .values({
      bulk_action_id: bulkActionId,
      position: 0,
      device_id: deviceId,
      certificate_id: certificateId,
      ...(isChange && { change: JSON.stringify([{ label: 'site', after: 'pier4' }]), row_number: 1 }),
    })
    .execute()
  return bulkActionId
}

/** Inserts a bulk action that has set a label of one device. Resolves to its id. */
export async function endedBulkChangeRow(hub: TestHub, projectId: string, userId: string): Promise<string> {
  const bulkActionId = await bulkActionRow(hub, projectId, userId, 'SetLabels')
  await hub.pool.query(
    `update bulk_action set status = 'Completed', started_at = now(), ended_at = now(), succeeded_count = 1 where bulk_action_id = $1`,
    [bulkActionId],
  )
  await hub.pool.query(`update bulk_action_item set outcome = 'Succeeded' where bulk_action_id = $1`, [
    bulkActionId,
  ])
  return bulkActionId
}

/** Inserts a failed background job that mails a link. The token of the link does not exist, so a further attempt has nothing to do. */
export async function failedJob(hub: TestHub): Promise<string> {
  const jobId = newDatedId('job')
  await hub.pool.query(
    `insert into pgboss.job (name, data, state, started_on, completed_on)
     values ('users_SendPasswordEmail', $1, 'failed', now(), now())`,
    [{ jobId, jwtId: 'gone' }],
  )
  return jobId
}

/** Inserts a session, valid for a day by default. Resolves to its secret. */
export async function newSession(
  hub: TestHub,
  userId: string,
  expiresAt = new Date(Date.now() + 24 * 60 * 60 * 1000),
): Promise<string> {
  const token = newId('u_session_sk')
  await hub.db
    .insertInto('session')
    .values({
      session_id: publicIdOf(token),
      token_hash: hashSecret(token),
      user_id: userId,
      user_agent: 'test',
      expires_at: expiresAt,
    })
    .execute()
  return token
}
