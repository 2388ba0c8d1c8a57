import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { failAction, invoke, mailedLink } from './people.ts'
import {
  type CertificateStatus,
  MIRA,
  NOA,
  openPopulatedStage,
  type PopulatedStage,
} from './populated-stage.ts'
import { isShown, readShown, type Shown } from './shown-texts.ts'
import { SITUATIONS, type SpecifiedSituation } from './specification-texts.ts'

const PASSWORD = 'correct horse battery'
const NOWHERE = 'z'.repeat(22)
const FAILURE = 'The database is away.'

let populated: PopulatedStage
/** Page without a session. */
let outside: Page
/** Page of the instance's administrator, who is an administrator of the organization too. */
let admin: Page
/** Page of Mira, a member without a display name. */
let mira: Page
/** Confirmation prompts of the running test. Each is declined. */
let asked: string[] = []
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
  outside = await populated.stage.newPage()
})

beforeEach(async () => {
  const { stage } = populated
  if (outside.isClosed()) outside = await stage.newPage()
  admin = await stage.signedInPage()
  mira = await stage.signedInPage({ person: MIRA })
  asked = []
  for (const page of [outside, admin, mira]) {
    await page.unrouteAll()
    page.removeAllListeners('dialog')
    page.on('dialog', question => {
      asked.push(question.message())
      void question.dismiss()
    })
  }
})

afterAll(() => resources.disposeAsync())

/** Paths of the pages that the situations open. */
const paths = {
  organization: () => `/${populated.organizationId}`,
  project: () => `${paths.organization()}/projects/${populated.projectId}`,
  repository: () => `${paths.organization()}/repositories/${populated.repositoryId}`,
  publicRepository: () => `${paths.organization()}/repositories/${populated.publicRepositoryId}`,
  package: () => `${paths.repository()}/packages/${populated.packageId}`,
  version: () => `${paths.package()}/versions/${populated.versionId}`,
}

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
    const link = new URL(await mailedLink(populated.stage, NOA.email, '/signup/verify'))
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
  'project that is not there': () => open(admin, `${paths.organization()}/projects/p_${NOWHERE}/devices`),
  'device that is not there': () => open(admin, `${paths.project()}/devices/d_${NOWHERE}`),
  'repository that is not there': () =>
    open(admin, `${paths.organization()}/repositories/repo_${NOWHERE}/packages`),
  'package that is not there': () => open(admin, `${paths.repository()}/packages/pkg_${NOWHERE}`),
  'version that is not there': () => open(admin, `${paths.package()}/versions/pkg_v_${NOWHERE}`),
  'page that fails': () => open(mira, '/admin/users'),
  'page that fails, error shown': () => clicked(open(mira, '/admin/users'), 'Show Error'),

  'account menu of an administrator': () => clicked(open(admin, '/settings/profile'), /^Account menu/),
  'account menu of a user without a display name': () =>
    clicked(open(mira, '/settings/profile'), /^Account menu/),

  projects: () => open(admin, `${paths.organization()}/projects`),
  'dialog Create Project, sent empty': async () =>
    sent(dialog(`${paths.organization()}/projects`, 'Create Project'), 'Create Project'),
  devices: () => open(admin, paths.project()),
  'guide for a further device': () => open(admin, `${paths.project()}/devices/connect`),
  'device that is connected': () => device('Active'),
  'device that is disconnected and has no name': () => device('Pending'),
  'update that is completed': () => updating('completed'),
  'update that failed': () => updating('failed'),
  'update in another state': () => updating('committing'),
  'certificate that is pending': () => device('Pending'),
  'certificate that was rejected': () => device('Rejected'),
  'certificate that was revoked': () => device('Revoked'),
  'deployment tokens': () => open(admin, `${paths.project()}/tokens`),
  'dialog New Token of a project, sent empty': () =>
    sent(dialog(`${paths.project()}/tokens`, 'New Token'), 'Create Token'),
  'deployment token that was created': () =>
    sent(dialog(`${paths.project()}/tokens`, 'New Token'), 'Create Token', { Name: 'Line 5' }),
  'deployment token, about to be deleted': () =>
    clicked(open(admin, `${paths.project()}/tokens`), 'Delete token By hand'),
  'linked repositories, sent without a choice': () =>
    sent(open(admin, `${paths.project()}/repositories`), 'Link Repository'),
  'linked repositories, one linked': () => open(admin, `${paths.project()}/repositories`),
  'audit log of a project': () => open(admin, `${paths.project()}/log`),
  'settings of a project': () => open(admin, `${paths.project()}/settings`),
  'project, about to be deleted': () => clicked(open(admin, `${paths.project()}/settings`), 'Delete Project'),

  repositories: () => open(admin, `${paths.organization()}/repositories/`),
  'dialog New Repository': () => dialog(`${paths.organization()}/repositories/`, 'New Repository'),
  'dialog New Repository, name is taken': () =>
    sent(dialog(`${paths.organization()}/repositories/`, 'New Repository'), 'Create Repository', {
      Name: 'fleet-images',
    }),
  'packages, none yet': () => open(admin, `${paths.publicRepository()}/packages`),
  packages: () => open(admin, paths.repository()),
  'versions of a package': () => open(admin, paths.package()),
  'version with a file': () => open(admin, paths.version()),
  'assets of a repository': () => open(admin, `${paths.repository()}/assets`),
  'audit log of a repository': () => open(admin, `${paths.repository()}/log`),
  'settings of a private repository': () => open(admin, `${paths.repository()}/settings`),
  'settings of a public repository': () => open(admin, `${paths.publicRepository()}/settings`),
  'S3 configuration, sent empty': async () => {
    const page = await open(admin, `${paths.repository()}/settings`)
    await page.getByRole('region', { name: 'S3 Configuration' }).getByRole('button', { name: 'Save' }).click()
    return page
  },
  'visibility, about to be changed': () =>
    clicked(open(admin, `${paths.repository()}/settings`), 'Make Public'),
  'repository, about to be deleted': () =>
    clicked(open(admin, `${paths.repository()}/settings`), 'Delete Repository'),

  'members and pending invitations': () => open(admin, `${paths.organization()}/settings`),
  'dialog Invite User, sent empty': () =>
    sent(dialog(`${paths.organization()}/settings/members`, 'Invite User'), 'Invite User'),
  'dialog Invite User, sent with something else': () =>
    sent(dialog(`${paths.organization()}/settings/members`, 'Invite User'), 'Invite User', {
      Email: 'mira@halden',
    }),

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
  await page.goto(`${populated.stage.hub.url}${path}`)
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

function device(certificateStatus: CertificateStatus): Promise<Page> {
  return open(admin, `${paths.project()}/devices/${populated.devices[certificateStatus]}`)
}

async function updating(state: string): Promise<Page> {
  await invoke(admin, 'devices_SetProperty', {
    deviceId: populated.devices.Active,
    name: 'dev.nexigon.ota.status',
    value: { state, currentVersion: '1.0', targetVersion: '2.0' },
  })
  return device('Active')
}
