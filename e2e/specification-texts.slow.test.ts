import { ConnectionRefused, connectDevice } from '@muster/testkit'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import {
  failAction,
  invoke,
  mailedLink,
  openStage,
  organizationOf,
  type Stage,
  startSession,
} from './people.ts'
import { isShown, readShown, type Shown } from './shown-texts.ts'
import { SITUATIONS, type SpecifiedSituation } from './specification-texts.ts'

const PASSWORD = 'correct horse battery'
const MIRA = { email: 'mira@halden.example', password: PASSWORD }
const NOA = { email: 'noa@halden.example', password: PASSWORD }
const NOWHERE = 'z'.repeat(22)
const FAILURE = 'The database is away.'

let stage: Stage
/** Page without a session. */
let outside: Page
/** Page of the instance's administrator, who is an administrator of the organization too. */
let admin: Page
/** Page of Mira, a member without a display name. */
let mira: Page
let organization: string
let project: string
let repository: string
let versionPath: string
let secondRepositoryId: string
/** Ids of the devices by the status of their only certificate. */
const devices: Record<'Active' | 'Pending' | 'Rejected' | 'Revoked', string> = {
  Active: '',
  Pending: '',
  Rejected: '',
  Revoked: '',
}
/** Confirmation prompts of the running test. Each is declined. */
let asked: string[] = []
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  admin = await stage.newPage()
  mira = await stage.newPage()
  outside = await stage.newPage()
  await startSession(admin, stage)
  organization = await organizationOf(admin)
  await Promise.all([addDevices(), addRepositories(), addPeople()])
  await invoke(admin, 'projects_LinkRepository', {
    projectId: idIn(project),
    repositoryId: secondRepositoryId,
  })
  for (const page of [outside, admin, mira]) {
    page.on('dialog', question => {
      asked.push(question.message())
      void question.dismiss()
    })
  }
})

afterAll(() => resources.disposeAsync())

beforeEach(async () => {
  asked = []
  for (const page of [outside, admin, mira]) await page.unrouteAll()
})

type Situation = (typeof SITUATIONS)[number]['situation']

const ENTRIES: readonly (SpecifiedSituation & { situation: Situation })[] = SITUATIONS

/** Brings a page into each situation and resolves to that page. */
const REACH: Record<Situation, () => Promise<Page>> = {
  'login page, nothing typed': () => open(outside, '/login'),
  'login page, sent blank': () => sent(open(outside, '/login'), 'Log in'),
  'login page, sign-in failed': () =>
    sent(open(outside, '/login'), 'Log in', { Email: 'nobody@halden.example', Password: 'wrong password' }),
  'sign-up page, nothing typed': () => open(outside, '/signup/'),
  'sign-up page, sent with wrong input': () =>
    sent(open(outside, '/signup/'), 'Create account', {
      Password: '1234567',
      'Confirm password': '12345678',
    }),
  'sign-up page, request failed': async () => {
    await failAction(outside, 'users_Register', FAILURE)
    await open(outside, '/signup/')
    await outside.getByLabel(/^I agree/).check()
    return sent(outside, 'Create account', {
      'Full name': 'Ola Berg',
      'Work email': 'ola@halden.example',
      Password: PASSWORD,
      'Confirm password': PASSWORD,
    })
  },
  'activation page, waiting for the answer': async () => {
    await outside.route('**/invoke/users_CompleteRegistration', () => {})
    return open(outside, '/signup/verify?jwt=x')
  },
  'activation page, Completed': async () => {
    const link = new URL(await mailedLink(stage, NOA.email, '/signup/verify'))
    return open(outside, `${link.pathname}${link.search}`)
  },
  'activation page, Failed': () => open(outside, '/signup/verify'),
  'activation page, request failed': async () => {
    await failAction(outside, 'users_CompleteRegistration', FAILURE)
    return open(outside, '/signup/verify?jwt=x')
  },
  'page to reset the password': () => open(outside, '/reset-password'),
  'unknown address, signed out': () => open(outside, '/no/such/page'),

  'unknown address, signed in': () => open(admin, '/no/such/page'),
  'project that is not there': () => open(admin, `/${organization}/projects/p_${NOWHERE}/devices`),
  'device that is not there': () => open(admin, `${project}/devices/d_${NOWHERE}`),
  'repository that is not there': () => open(admin, `/${organization}/repositories/repo_${NOWHERE}/packages`),
  'package that is not there': () => open(admin, `${repository}/packages/pkg_${NOWHERE}`),
  'version that is not there': () =>
    open(admin, versionPath.replace(/versions\/.*/, `versions/pkg_v_${NOWHERE}`)),
  'page that fails': () => open(mira, '/admin/users'),
  'page that fails, error shown': () => clicked(open(mira, '/admin/users'), 'Show Error'),

  'account menu of an administrator': () => clicked(open(admin, '/settings/profile'), /^Account menu/),
  'account menu of a user without a display name': () =>
    clicked(open(mira, '/settings/profile'), /^Account menu/),

  projects: () => open(admin, `/${organization}/projects`),
  'dialog Create Project, sent empty': async () =>
    sent(dialog(`/${organization}/projects`, 'Create Project'), 'Create Project'),
  devices: () => open(admin, project),
  'guide for a further device': () => open(admin, `${project}/devices/connect`),
  'device that is connected': () => device('Active'),
  'device that is disconnected and has no name': () => device('Pending'),
  'update that is completed': () => updating('completed'),
  'update that failed': () => updating('failed'),
  'update in another state': () => updating('committing'),
  'certificate that is pending': () => device('Pending'),
  'certificate that was rejected': () => device('Rejected'),
  'certificate that was revoked': () => device('Revoked'),
  'deployment tokens': () => open(admin, `${project}/tokens`),
  'dialog New Token of a project, sent empty': () =>
    sent(dialog(`${project}/tokens`, 'New Token'), 'Create Token'),
  'deployment token that was created': () =>
    sent(dialog(`${project}/tokens`, 'New Token'), 'Create Token', { Name: 'Line 5' }),
  'deployment token, about to be deleted': () =>
    clicked(open(admin, `${project}/tokens`), 'Delete token By hand'),
  'linked repositories, sent without a choice': () =>
    sent(open(admin, `${project}/repositories`), 'Link Repository'),
  'linked repositories, one linked': () => open(admin, `${project}/repositories`),
  'audit log of a project': () => open(admin, `${project}/log`),
  'settings of a project': () => open(admin, `${project}/settings`),
  'project, about to be deleted': () => clicked(open(admin, `${project}/settings`), 'Delete Project'),

  repositories: () => open(admin, `/${organization}/repositories/`),
  'dialog New Repository': () => dialog(`/${organization}/repositories/`, 'New Repository'),
  'dialog New Repository, name is taken': () =>
    sent(dialog(`/${organization}/repositories/`, 'New Repository'), 'Create Repository', {
      Name: 'fleet-images',
    }),
  'packages, none yet': () => open(admin, `/${organization}/repositories/${secondRepositoryId}/packages`),
  packages: () => open(admin, repository),
  'versions of a package': () => open(admin, versionPath.replace(/\/versions\/.*/, '')),
  'version with a file': () => open(admin, versionPath),
  'assets of a repository': () => open(admin, `${repository}/assets`),
  'audit log of a repository': () => open(admin, `${repository}/log`),
  'settings of a private repository': () => open(admin, `${repository}/settings`),
  'settings of a public repository': () =>
    open(admin, `/${organization}/repositories/${secondRepositoryId}/settings`),
  'S3 configuration, sent empty': async () => {
    const page = await open(admin, `${repository}/settings`)
    await page.getByRole('region', { name: 'S3 Configuration' }).getByRole('button', { name: 'Save' }).click()
    return page
  },
  'visibility, about to be changed': () => clicked(open(admin, `${repository}/settings`), 'Make Public'),
  'repository, about to be deleted': () =>
    clicked(open(admin, `${repository}/settings`), 'Delete Repository'),

  'members and pending invitations': () => open(admin, `/${organization}/settings`),
  'dialog Invite User, sent empty': () =>
    sent(dialog(`/${organization}/settings/members`, 'Invite User'), 'Invite User'),
  'dialog Invite User, sent with something else': () =>
    sent(dialog(`/${organization}/settings/members`, 'Invite User'), 'Invite User', { Email: 'mira@halden' }),

  invitations: () => open(mira, '/user/invitations'),
  profile: () => open(admin, '/settings'),
  'profile, sent blank': () => sent(open(admin, '/settings/profile'), 'Save', { 'Display name': '   ' }),
  'password page, sent with wrong input': () =>
    sent(open(admin, '/settings/security'), 'Change Password', {
      'New password': '1234567',
      'Confirm password': '12345678',
    }),
  'dialog New Token of a user, sent empty': () =>
    sent(dialog('/settings/security', 'New Token'), 'Create Token'),
  'user token that was created': () =>
    sent(dialog('/settings/security', 'New Token'), 'Create Token', { Name: 'Nightly script' }),
  'user token, about to be deleted': () =>
    clicked(open(admin, '/settings/security'), 'Delete token Weekly script'),
  sessions: () => open(admin, '/settings/sessions'),

  dashboard: () => open(admin, '/admin'),
  users: () => open(admin, '/admin/users'),
  'dialog New User': () => dialog('/admin/users', 'New User'),
  'dialog New User, email is taken': () =>
    sent(dialog('/admin/users', 'New User'), 'Create User', { Email: MIRA.email }),
  'dialog New User, failure with a message': () => failingNewUser(FAILURE),
  'dialog New User, failure without a message': () => failingNewUser(''),
  'event log': () => open(admin, '/admin/log'),
  'actions log': () => open(admin, '/admin/actions?type=projects_LinkRepository'),
  jobs: () => open(admin, '/admin/jobs'),
  cluster: () => open(admin, '/admin/cluster'),
}

it.each([...Map.groupBy(ENTRIES, ({ situation }) => situation)])(
  'shows %s as specified',
  async (situation, entries) => {
    const page = await REACH[situation]()
    let shown!: Shown
    await expect
      .poll(async () => {
        shown = await readShown(page)
        return entries.flatMap(({ section, texts }) => {
          const missing = texts.filter(text => !isShown(text, shown, asked))
          return missing.length > 0 ? [{ section, missing }] : []
        })
      })
      .toEqual([])
    expect(entries.flatMap(({ absent = [] }) => absent).filter(text => shown.texts.includes(text))).toEqual(
      [],
    )
  },
)

async function open(page: Page, path: string): Promise<Page> {
  await page.goto(`${stage.hub.url}${path}`)
  return page
}

async function clicked(opened: Promise<Page>, button: string | RegExp): Promise<Page> {
  const page = await opened
  await page.getByRole('button', { name: button, exact: true }).click()
  return page
}

/** Opens a dialog of the administrator with a button of a page. */
async function dialog(path: string, button: string): Promise<Page> {
  const page = await clicked(open(admin, path), button)
  await page.getByRole('dialog').waitFor()
  return page
}

/** Fills the fields of the open dialog, or else of the page, and sends them with a button. */
async function sent(
  opened: Page | Promise<Page>,
  button: string,
  values: Record<string, string> = {},
): Promise<Page> {
  const page = await opened
  const isDialog = (await page.getByRole('dialog').count()) > 0
  const form = isDialog ? page.getByRole('dialog') : page.locator('main')
  for (const [label, value] of Object.entries(values))
    await form.getByLabel(new RegExp(`^${label} \\((required|optional)\\)$`)).fill(value)
  await form.getByRole('button', { name: button, exact: true }).click()
  return page
}

async function failingNewUser(message: string): Promise<Page> {
  const page = await dialog('/admin/users', 'New User')
  await failAction(page, 'users_CreateUser', message)
  return sent(page, 'Create User', { Email: 'ola@halden.example' })
}

function device(certificateStatus: keyof typeof devices): Promise<Page> {
  return open(admin, `${project}/devices/${devices[certificateStatus]}`)
}

async function updating(state: string): Promise<Page> {
  await invoke(admin, 'devices_SetProperty', {
    deviceId: devices.Active,
    name: 'dev.nexigon.ota.status',
    value: { state, currentVersion: '1.0', targetVersion: '2.0' },
  })
  return device('Active')
}

/** The last part of a path. */
function idIn(path: string): string {
  return path.split('/').at(-1)!
}

/**
 * Enrols a connected device with all its data. Enrols three more devices that the hub refused because their certificates were
 * pending. Of these certificates one stays pending, one becomes rejected and one becomes revoked.
 */
async function addDevices() {
  const { projects } = await invoke(admin, 'organizations_QueryProjects', { organizationId: organization })
  const { projectId } = projects[0]!
  project = `/${organization}/projects/${projectId}`
  const { url } = stage.hub
  const connected = resources.use(await connectDevice({ url, token: firstToken(stage.hub) }))
  const { deviceId } = connected
  devices.Active = deviceId
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
    await expect(connectDevice({ url, token })).rejects.toBeInstanceOf(ConnectionRefused)
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
}

/** Creates a private repository with a version, and a public one without packages. */
async function addRepositories() {
  const created = await invoke(admin, 'repositories_Create', {
    organizationId: organization,
    name: 'fleet-images',
  })
  const second = await invoke(admin, 'repositories_Create', {
    organizationId: organization,
    name: 'fleet-tools',
    visibility: 'Public',
  })
  if (created.result !== 'Created' || second.result !== 'Created') throw new Error('no repositories')
  const { repositoryId } = created
  secondRepositoryId = second.repositoryId
  repository = `/${organization}/repositories/${repositoryId}`
  const made = await invoke(admin, 'repositories_CreatePackage', { repositoryId, name: 'os-image' })
  if (made.result !== 'Created') throw new Error(made.result)
  const { packageId } = made
  const { versionId } = await invoke(admin, 'repositories_CreateVersion', {
    packageId,
    tags: [{ tag: '1.4.0', locked: true }, { tag: 'stable' }],
  })
  versionPath = `${repository}/packages/${packageId}/versions/${versionId}`
  const { assetId } = await invoke(admin, 'repositories_CreateAsset', {
    repositoryId,
    size: 1536,
    digest: `sha256_${'ab'.repeat(32)}`,
  })
  await invoke(admin, 'repositories_AddVersionAsset', { versionId, assetId, filename: 'image.raw' })
}

/** Adds Mira as a member without a display name and with an open invitation, and starts the sign-up of Noa. */
async function addPeople() {
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
  await startSession(mira, stage, MIRA)
}
