import { ConnectionRefused, connectDevice } from '@muster/testkit/device'
import type { Page } from 'playwright-core'
import { changeDatabase, firstToken } from './hub-child.ts'
import { invoke, mailedLink, openStage, organizationOf, type Stage } from './people.ts'

const PASSWORD = 'correct horse battery'
const NOWHERE = 'z'.repeat(22)

/** Mira, a member of the organization without a display name. */
export const MIRA = { email: 'mira@halden.example', password: PASSWORD }
/** Noa, who signed up and has not confirmed the address. */
export const NOA = { email: 'noa@halden.example', password: PASSWORD }

/** Status of the only certificate of a device. */
export type CertificateStatus = 'Active' | 'Pending' | 'Rejected' | 'Revoked'

/** A hub on which every page has something to show. Paths begin with a slash. */
export type PopulatedStage = AsyncDisposable & {
  stage: Stage
  /** Id of the first administrator's organization. */
  organizationId: string
  projectId: string
  /** Devices by the status of their only certificate. The one with the active certificate is connected. */
  devices: Record<CertificateStatus, string>
  /** A private repository with a package, a version and an asset. */
  repositoryId: string
  packageId: string
  versionId: string
  /** A public repository without packages, linked to the project. */
  publicRepositoryId: string
  /** A webhook of the project that fails. */
  webhookId: string
}

/**
 * Opens a stage whose first administrator has an organization with devices, repositories, tokens, members and invitations. It is
 * closed on disposal.
 */
export async function openPopulatedStage(): Promise<PopulatedStage> {
  await using resources = new AsyncDisposableStack()
  const stage = resources.use(await openStage({ MUSTER_OUTBOUND_ALLOW: 'webhooks:127.0.0.1' }))
  const admin = await stage.signedInPage()
  const organizationId = await organizationOf(admin)
  const { projects } = await invoke(admin, 'organizations_QueryProjects', { organizationId })
  const { projectId } = projects[0]!
  const [devices, repositories, webhookId] = await Promise.all([
    addDevices(stage, admin, projectId, resources),
    addRepositories(admin, organizationId),
    addFailingWebhook(stage, admin, { organizationId, projectId, name: 'Ticket system' }),
    addPeople(stage, admin, organizationId),
  ])
  await invoke(admin, 'projects_LinkRepository', { projectId, repositoryId: repositories.publicRepositoryId })
  const kept = resources.move()
  return {
    stage,
    organizationId,
    projectId,
    devices,
    ...repositories,
    webhookId,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/**
 * Enrols a connected device with all its data. Enrols three more devices that the hub refused because their certificates were
 * pending. Of these certificates one stays pending, one becomes rejected and one becomes revoked.
 */
async function addDevices(
  stage: Stage,
  admin: Page,
  projectId: string,
  resources: AsyncDisposableStack,
): Promise<PopulatedStage['devices']> {
  const { url } = stage.hub
  const connected = resources.use(await connectDevice({ url, token: firstToken(stage.hub) }))
  const { deviceId } = connected
  const devices = { Active: deviceId, Pending: '', Rejected: '', Revoked: '' }
  await invoke(admin, 'devices_SetName', { deviceId, name: 'crane-1' })
  await invoke(admin, 'devices_SetProperty', {
    deviceId,
    name: 'dev.nexigon.system.info',
    value: {
      memory: { total: 1.5 * 1024 ** 3 },
      networks: [{ name: 'eth0', macAddress: '00:1b:44:11:3a:b7', ipAddresses: ['192.0.2.7'] }],
      disks: [
        { name: '/dev/a', totalSpace: 1023, availableSpace: 512 },
        { name: '/dev/b', totalSpace: 1024, availableSpace: 341 },
        { name: '/dev/c', totalSpace: 2 * 1024 ** 2, availableSpace: 1536 },
      ],
    },
  })
  await connected.invoke('devices_PublishEvents', {
    deviceId,
    events: (['Trace', 'Debug', 'Info', 'Warning', 'Error', 'Critical'] as const).map((severity, n) => ({
      eventId: `d_ev_20261121-1203-17czX8X${n + 1}`,
      severity,
      body: 'Wind limit reached',
      attributes: {},
      emittedAt: new Date().toISOString(),
    })),
  })
  for (const [n, secs] of [119, 120, 3_660, 93_780].entries())
    await changeDatabase(
      stage.hub,
      `insert into device_connection
       values ('d_conn_${String(n + 1).repeat(22)}', '${deviceId}', 'cluster_node_${NOWHERE}',
               'deployment_id_${NOWHERE}', 'd_c_${NOWHERE}', now() - interval '2 days',
               now() - interval '2 days' + interval '${secs} s', 'Disconnected')`,
    )

  const { token } = await invoke(admin, 'projects_CreateDeploymentToken', {
    projectId,
    name: 'By hand',
    flags: { autoAccept: false },
  })
  for (const status of ['Pending', 'Rejected', 'Revoked'] as const) {
    await refused(url, token)
    const { devices: known } = await invoke(admin, 'projects_QueryDevices', { projectId })
    const added = known.find(one => !Object.values(devices).includes(one.deviceId))!.deviceId
    devices[status] = added
    if (status === 'Pending') continue
    await invoke(admin, 'devices_SetName', { deviceId: added, name: `crane-${status}` })
    const { certificates } = await invoke(admin, 'devices_GetDetails', { deviceId: added })
    const { certificateId } = certificates[0]!
    if (status === 'Revoked')
      await invoke(admin, 'devices_SetCertificateStatus', { certificateId, status: 'Active' })
    await invoke(admin, 'devices_SetCertificateStatus', { certificateId, status })
  }
  return devices
}

/** Connects a new device that the hub refuses, because the token does not accept its certificate. */
async function refused(url: string, token: string): Promise<void> {
  const failure = await connectDevice({ url, token }).catch((error: unknown) => error)
  if (!(failure instanceof ConnectionRefused))
    throw new Error('the hub accepted a device of a token without auto-accept')
}

/** Creates a private repository with a version, and a public one without packages. */
async function addRepositories(admin: Page, organizationId: string) {
  const created = await invoke(admin, 'repositories_Create', {
    organizationId,
    name: 'fleet-images',
  })
  const second = await invoke(admin, 'repositories_Create', {
    organizationId,
    name: 'fleet-tools',
    visibility: 'Public',
  })
  if (created.result !== 'Created' || second.result !== 'Created') throw new Error('no repositories')
  const { repositoryId } = created
  const made = await invoke(admin, 'repositories_CreatePackage', { repositoryId, name: 'os-image' })
  if (made.result !== 'Created') throw new Error(made.result)
  const { packageId } = made
  const { versionId } = await invoke(admin, 'repositories_CreateVersion', {
    packageId,
    tags: [{ tag: '1.4.0', locked: true }, { tag: 'stable' }],
  })
  const { assetId } = await invoke(admin, 'repositories_CreateAsset', {
    repositoryId,
    size: 1536,
    digest: `sha256_${'ab'.repeat(32)}`,
  })
  await invoke(admin, 'repositories_AddVersionAsset', { versionId, assetId, filename: 'image.raw' })
  return { repositoryId, packageId, versionId, publicRepositoryId: second.repositoryId }
}

type NewWebhook = { organizationId: string; projectId?: string; name: string }

/**
 * Creates a webhook that has failed for half an hour, with attempts for two messages. It sends nothing, because no message has its type. The hub
 * must allow the address 127.0.0.1. Returns its id.
 */
export async function addFailingWebhook(
  stage: Stage,
  admin: Page,
  { organizationId, projectId, name }: NewWebhook,
): Promise<string> {
  const made = await invoke(admin, 'webhooks_Create', {
    organizationId,
    ...(projectId && { projectId }),
    name,
    format: 'standard',
    url: 'http://127.0.0.1:9/hook',
    types: ['none.*'],
  })
  if (made.result !== 'Created') throw new Error(made.result)
  const { webhookId } = made
  await changeDatabase(
    stage.hub,
    `insert into webhook_attempt (webhook_id, message_id, attempt, type, attempted_at, took_ms, status, error, answer)
     select '${webhookId}', message_id, attempt, type, now() - ago::interval, took_ms, status, error, answer
       from (values
         ('msg_20261121-0800-17czX8X1', 3, 'devices.Created', '1 min', 412, 502, null, '<html>bad gateway</html>'),
         ('msg_20261121-0800-17czX8X1', 2, 'devices.Created', '20 min', 380, 502, null, '<html>bad gateway</html>'),
         ('msg_20261121-0800-17czX8X1', 1, 'devices.Created', '30 min', 15003, null, 'No answer within 15 s.', null),
         ('msg_20261121-0700-17czX8X2', 1, 'projects.NameChanged', '90 min', 96, 200, null, 'ok')
       ) as a (message_id, attempt, type, ago, took_ms, status, error, answer)`,
  )
  await changeDatabase(
    stage.hub,
    `update webhook_queue set failures = 3, failing_since = now() - interval '30 min', last_attempt_at = now() - interval '1 min',
            last_success_at = now() - interval '90 min', waiting = 1 where webhook_id = '${webhookId}'`,
  )
  return webhookId
}

/** Adds Mira as a member without a display name and with an open invitation, and starts the sign-up of Noa. */
async function addPeople(stage: Stage, admin: Page, organization: string) {
  for (const { email, password } of [MIRA, NOA])
    await invoke(admin, 'users_Register', { email, password, displayName: 'Mira', consentedToTerms: true })
  const activationToken = new URL(await mailedLink(stage, MIRA.email, '/signup/verify')).searchParams.get(
    'jwt',
  )!
  await invoke(admin, 'users_CompleteRegistration', { activationToken })
  await changeDatabase(stage.hub, `update "user" set display_name = null where email = '${MIRA.email}'`)
  const { users } = await invoke(admin, 'users_Query', { filter: { text: MIRA.email } })
  await invoke(admin, 'organizations_AddMember', {
    organizationId: organization,
    userId: users[0]!.userId,
  })
  await invoke(admin, 'organizations_InviteMember', {
    organizationId: organization,
    email: 'invited@halden.example',
  })
  const { organizationId } = await invoke(admin, 'organizations_Create', { name: 'Halden Cranes' })
  await invoke(admin, 'organizations_InviteMember', { organizationId, email: MIRA.email })
  const { users: administrators } = await invoke(admin, 'users_Query', {
    filter: { text: stage.admin.email },
  })
  await invoke(admin, 'users_CreateToken', { userId: administrators[0]!.userId, name: 'Weekly script' })
}
