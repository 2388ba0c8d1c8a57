import type { ActionOutput } from '@muster/actions'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import {
  countingRequests,
  expectGoodMenu,
  expectGoodScreen,
  invoke,
  mailedLink,
  openStage,
  type Person,
  type Stage,
  signIn,
  startSession,
} from './people.ts'

const MIRA = { email: 'mira@halden.example', password: 'correct horse battery' }
const LENE = { email: 'lene@halden.example', password: 'correct horse battery' }
const NOA = { email: 'noa@halden.example', password: 'correct horse battery' }

let stage: Stage
/** Page of the instance's administrator, who has an organization. */
let admin: Page
/** Page of Mira, who signed up and has another organization. */
let mira: Page
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  admin = await stage.signedInPage()
  await signUp(MIRA, 'Mira Okafor')
  mira = await stage.signedInPage({ person: MIRA })
})

beforeEach(async () => {
  admin = await stage.signedInPage()
  mira = await stage.signedInPage({ person: MIRA })
})

afterAll(() => resources.disposeAsync())

it('leads from the top bar to the members of the organization', async () => {
  await admin
    .getByRole('navigation', { name: 'Organization' })
    .getByRole('link', { name: 'Settings' })
    .click()
  await admin.waitForURL(/\/org_\w+\/settings\/members$/)
  await admin.getByRole('heading', { level: 1, name: 'Members' }).waitFor()
  await admin
    .getByRole('navigation', { name: 'Organization settings' })
    .getByRole('link', { name: 'Members' })
    .waitFor()
  const row = rowOf(admin, stage.admin.email)
  await row.getByText('Admin', { exact: true }).waitFor()
  await row.getByRole('button', { name: /^Remove/ }).waitFor()
  await admin.getByText('No pending invitations.', { exact: true }).waitFor()
  await expectGoodScreen(admin, 'members')
})

it('invites by email address and shows what is wrong with an address', async () => {
  const dialog = await openInvite()
  await dialog.getByRole('button', { name: 'Invite User' }).click()
  await dialog.getByText('Please enter an email address.', { exact: true }).waitFor()
  expect(await dialog.getByRole('button', { name: 'Invite User' }).isDisabled()).toBe(true)
  await dialog.getByLabel('Email (required)').fill('mira@halden')
  await dialog.getByText('Please enter a valid email address.', { exact: true }).waitFor()
  await expectGoodScreen(admin, 'invite-dialog')
  await dialog.getByLabel('Email (required)').fill(` ${MIRA.email} `)
  const sent = await countingRequests(admin, 'organizations_InviteMember', async () => {
    await Promise.all([
      admin.getByText(`${MIRA.email} invited.`).waitFor(),
      dialog.getByRole('button', { name: 'Invite User' }).dblclick(),
    ])
    await dialog.waitFor({ state: 'detached' })
  })
  expect(sent).toBe(1)
  await rowOf(admin, MIRA.email).waitFor()
  await expectGoodScreen(admin, 'members-invited')
  expect(await mailedLink(stage, MIRA.email, '/user/invitations')).toContain('/user/invitations')
})

it('shows the hub’s reason for refusing an invitation in the dialog', async () => {
  const dialog = await openInvite()
  await dialog.getByLabel('Email (required)').fill(stage.admin.email)
  await dialog.getByRole('button', { name: 'Invite User' }).click()
  const box = dialog.getByRole('alert').filter({ hasText: 'The user was not invited.' })
  await box.getByText('is already a member', { exact: false }).waitFor()
  await expectGoodScreen(admin, 'invite-dialog-refused')
  await dialog.getByLabel('Email (required)').fill('<script>alert(1)</script>@halden.example')
  await dialog.getByRole('button', { name: 'Invite User' }).click()
  await box.getByText('email: expected an email address', { exact: false }).waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
})

it('invites a colleague and copies the link in four steps; the link leads to the activated account', async () => {
  const steps: string[] = []
  const step = async (what: string, act: () => Promise<unknown>) => {
    await act()
    steps.push(what)
  }
  await admin.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await admin.goto(`${stage.hub.url}/${organizationId()}/settings/members`)
  await step('click Invite User', () => admin.getByRole('button', { name: 'Invite User' }).click())
  await step('type the address', () => admin.keyboard.type(LENE.email))
  await step('Enter', () => admin.keyboard.press('Enter'))
  const row = rowOf(admin, LENE.email)
  // The button says "Copied" for two seconds only, so the test waits for it from before the click.
  await Promise.all([
    row.getByRole('button', { name: /^Copied/ }).waitFor(),
    step('click Copy link', () => row.getByRole('button', { name: /^Copy link/ }).click()),
  ])
  expect(steps).toHaveLength(4)
  await row.getByText('Sent', { exact: true }).waitFor()
  await row.getByText(/^in [67] days$/).waitFor()
  await row.getByText(`by ${await nameOf(stage.admin.email)}`).waitFor()
  await expectGoodScreen(admin, 'members-invitation')

  const link = await admin.evaluate<string>('navigator.clipboard.readText()')
  const lene = await stage.newPage()
  await lene.goto(link)
  await lene.getByText(`The invitation to ${await organizationName()} is for this address.`).waitFor()
  expect(await lene.getByLabel('Work email (required)').inputValue()).toBe(LENE.email)
  await expectGoodScreen(lene, 'signup-invited')
  await lene.getByLabel('Full name (required)').fill('Lene Aas')
  await lene.getByLabel('Password (required)', { exact: true }).fill(LENE.password)
  await lene.getByLabel('Confirm password (required)').fill(LENE.password)
  await lene.getByRole('checkbox', { name: /Terms of Service/ }).check()
  await lene.getByRole('button', { name: 'Create account' }).click()
  await lene.getByText('Check your mail').waitFor()
  // Without the activation the account cannot sign in, so it cannot accept.
  await lene.goto(await mailedLink(stage, LENE.email, '/signup/verify'))
  await lene.getByText('Account Activated').waitFor()
  await startSession(lene, stage, LENE)
  await lene.goto(`${stage.hub.url}/user/invitations`)
  await lene.getByRole('button', { name: /^Accept the invitation/ }).click()
  await lene.getByText('You joined').waitFor()
  // The new member may be shown before the row of the invitation is gone.
  const member = rowOf(admin, LENE.email).filter({ hasText: 'Lene Aas' })
  await member.getByText('Member', { exact: true }).waitFor()
  await member.getByRole('button', { name: 'Remove Lene Aas' }).click()
  await expect.poll(() => rowOf(admin, LENE.email).count()).toBe(0)
  await lene.context().close()
})

it('sends an invitation again with another link, and says when that was often enough or the link has ended', async () => {
  const email = 'field.service@halden.example'
  const dialog = await openInvite()
  await dialog.getByLabel('Email (required)').fill(email)
  await dialog.getByRole('button', { name: 'Invite User' }).click()
  const row = rowOf(admin, email)
  const former = await mailedLink(stage, email, '/signup/')
  await row.getByRole('button', { name: /^Resend/ }).click()
  await admin.getByText(`Invitation of ${email} sent again.`).waitFor()
  await mailedLink(stage, email, '/signup/', former)
  const outside = await stage.newPage()
  await outside.goto(former)
  await outside.getByText('This link of an invitation has ended.').waitFor()
  await expectGoodScreen(outside, 'signup-ended-link')
  await outside.context().close()

  const change = (set: string) =>
    changeDatabase(stage.hub, `update organization_invitation set ${set} where email = '${email}'`)
  await change("resent_at = '{}'")
  await changeDatabase(
    stage.hub,
    `update invitation_mail set queued_at = array(select now() - make_interval(hours => n) from generate_series(1, 4) n)
      where email = '${email}'`,
  )
  await row.getByRole('button', { name: /^Resend/ }).click()
  await admin
    .getByRole('alert')
    .getByText(
      `Found 4 invitations mailed to ${email} within 24 hours, expected at most 4: send it again in 21 hours`,
    )
    .waitFor()
  await change("expires_at = now() - interval '1 day', mail_state = 'NotSent'")
  await admin.reload()
  await row.getByText('Ended', { exact: true }).waitFor()
  await row.getByText('Not sent', { exact: true }).waitFor()
  await row.getByText(/^The link ended on .*\. Resend sends a new one\.$/).waitFor()
  await expectGoodScreen(admin, 'members-invitation-ended')
  await admin.getByRole('button', { name: `Delete invitation of ${email}` }).click()
  await row.waitFor({ state: 'detached' })
})

it('withdraws an invitation', async () => {
  const dialog = await openInvite()
  await dialog.getByLabel('Email (required)').fill('wrong@halden.example')
  await dialog.getByRole('button', { name: 'Invite User' }).click()
  await rowOf(admin, 'wrong@halden.example').waitFor()
  await admin.getByRole('button', { name: 'Delete invitation of wrong@halden.example' }).click()
  await rowOf(admin, 'wrong@halden.example').waitFor({ state: 'detached' })
})

it('C13: shows an invitation on the first page and in the account menu', async () => {
  await mira.goto(stage.hub.url)
  await mira.getByText('Create your first project').waitFor()
  await mira.getByRole('heading', { name: `You are invited to ${await organizationName()}` }).waitFor()
  await expectGoodScreen(mira, 'projects-invited')
  await openAccountMenu(mira)
  await expect
    .poll(() => mira.getByRole('menuitem', { name: 'Invitations', exact: true }).innerText())
    .toMatch(/^Invitations\s*1$/)
  await mira.keyboard.press('Escape')
  await expectGoodMenu(mira, 'account-invited', openAccountMenu)
  await mira.getByRole('link', { name: 'View invitation' }).click()
  await mira.waitForURL(/\/user\/invitations$/)
})

it('accepts an invitation, and then the organization is in the switcher at once', async () => {
  await openAccountMenu(mira)
  await mira.getByRole('menuitem', { name: 'Invitations' }).click()
  await mira.waitForURL(/\/user\/invitations$/)
  await mira.getByRole('heading', { level: 1, name: 'Invitations' }).waitFor()
  for (const head of ['Organization id', 'Name'])
    await mira.getByRole('columnheader', { name: head, exact: true }).waitFor()
  await expectGoodScreen(mira, 'invitations')
  const name = await organizationName()
  const row = rowOf(mira, name)
  expect(await row.innerText()).toContain(organizationId())
  const sent = await countingRequests(mira, 'users_AcceptOrganizationInvitation', async () => {
    await row.getByRole('button', { name: `Accept the invitation to ${name}` }).dblclick()
    await mira.getByText('No open invitations.', { exact: true }).waitFor()
  })
  expect(sent).toBe(1)
  await mira.getByRole('status').getByText(`You joined ${name}.`).waitFor()
  await expectGoodScreen(mira, 'invitations-joined')
  await openOrganizationMenu(mira)
  await mira.getByRole('menuitem', { name, exact: true }).waitFor()
  await mira.keyboard.press('Escape')
  await mira.getByRole('link', { name: 'Open organization' }).click()
  await mira.waitForURL(`${stage.hub.url}/${organizationId()}/projects`)
  await rowOf(admin, MIRA.email).getByText('Member', { exact: true }).waitFor()
})

it('shows the hub’s refusals to a member, and allows the same to an administrator', async () => {
  await mira.goto(`${stage.hub.url}/${organizationId()}/settings`)
  await mira.waitForURL(/\/settings\/members$/)
  await rowOf(mira, MIRA.email).getByText('(you)').waitFor()
  await mira.getByRole('button', { name: `Remove ${await nameOf(stage.admin.email)}` }).click()
  await mira.getByRole('alert').filter({ hasText: 'Could not remove the member' }).waitFor()
  await mira.getByRole('button', { name: 'Make Mira Okafor an administrator' }).click()
  await mira.getByRole('alert').filter({ hasText: 'Could not change the role' }).waitFor()
  await expectGoodScreen(mira, 'members-refused')

  await admin.getByRole('button', { name: 'Make Mira Okafor an administrator' }).click()
  await rowOf(admin, MIRA.email).getByText('Admin', { exact: true }).waitFor()
  await rowOf(mira, MIRA.email).getByText('Admin', { exact: true }).waitFor()
  await mira.getByRole('button', { name: 'Make Mira Okafor a member' }).click()
  await rowOf(mira, MIRA.email).getByText('Member', { exact: true }).waitFor()
})

it('does not remove the last administrator', async () => {
  await rowOf(admin, MIRA.email).getByText('Member', { exact: true }).waitFor()
  await rowOf(admin, stage.admin.email)
    .getByRole('button', { name: /^Remove/ })
    .click()
  await admin.getByRole('alert').filter({ hasText: 'Could not leave the organization' }).waitFor()
  await rowOf(admin, stage.admin.email).waitFor()
})

it('leads a person who leaves an organization to another one of theirs', async () => {
  const left = await organizationName()
  await mira.getByRole('button', { name: 'Remove Mira Okafor' }).click()
  await mira.waitForURL(
    url => /^\/org_\w+\/projects$/.test(url.pathname) && !url.pathname.includes(organizationId()),
  )
  await mira.getByText('You left the organization.').waitFor()
  await openOrganizationMenu(mira)
  await mira.getByRole('menuitem').first().waitFor()
  expect(await mira.getByRole('menuitem', { name: left, exact: true }).count()).toBe(0)
  await mira.keyboard.press('Escape')
  await rowOf(admin, MIRA.email).waitFor({ state: 'detached' })
})

it('removes a member without confirmation', async () => {
  const { userId } = await signUp(NOA, 'Noa <b>Sun</b> 🛰')
  await invoke(admin, 'organizations_AddMember', { organizationId: organizationId(), userId })
  const row = rowOf(admin, NOA.email)
  await row.waitFor()
  await expectGoodScreen(admin, 'members-two')
  admin.on('dialog', dialog => stage.faults.push(`asked: ${dialog.message()}`))
  await row.getByRole('button', { name: 'Remove Noa <b>Sun</b> 🛰' }).click()
  await row.waitFor({ state: 'detached' })
  await admin
    .getByText(`Noa <b>Sun</b> 🛰 removed. Undo sends a new invitation to ${NOA.email}.`, { exact: true })
    .waitFor()
  // A notice stays as long as it has the focus.
  await admin.getByRole('button', { name: 'Undo' }).focus()
  await expectGoodScreen(admin, 'members-removed')
  await admin.getByRole('button', { name: 'Undo' }).click()
  await admin.getByText('Invitation sent again.', { exact: true }).waitFor()
  await admin.getByRole('button', { name: `Delete invitation of ${NOA.email}` }).click()
})

it('filters the organizations in the switcher when there are more than eight', async () => {
  await openOrganizationMenu(mira)
  expect(await mira.getByLabel('Filter organizations').count()).toBe(0)
  await expectGoodMenu(mira, 'organizations', openOrganizationMenu)
  for (let n = 1; n <= 8; n++) await invoke(mira, 'organizations_Create', { name: `Harbor ${n}` })
  await mira.reload()
  await mira.getByRole('heading', { level: 1 }).waitFor()
  await openOrganizationMenu(mira)
  const box = mira.getByLabel('Filter organizations')
  await box.waitFor()
  await mira.locator('input[type=search]:focus').waitFor()
  await mira.keyboard.type('no such')
  await mira.getByText('No organization matches this filter.').waitFor()
  await box.fill('harbor 7')
  expect(await mira.getByRole('menuitem').allInnerTexts()).toEqual(['Harbor 7'])
  await box.fill('HARBOR')
  await mira.keyboard.press('ArrowDown')
  await mira
    .locator(':focus')
    .filter({ hasText: /^Harbor 1$/ })
    .waitFor()
  await mira.keyboard.press('End')
  await mira.keyboard.press('Enter')
  await mira.getByRole('button', { name: 'Organization Harbor 8' }).waitFor()
  await openOrganizationMenu(mira)
  await mira.locator('input[type=search]:focus').waitFor()
  await mira.keyboard.type('harbor 3')
  await mira.keyboard.press('Enter')
  await mira.getByRole('button', { name: 'Organization Harbor 3' }).waitFor()
  await expectGoodMenu(mira, 'organizations-filter', openOrganizationMenu)
})

it('switches all tabs to the account that signs in in one of them', async () => {
  const first = await stage.newPage()
  await signIn(first, stage, stage.admin)
  const second = await first.context().newPage()
  await second.goto(`${stage.hub.url}/settings/profile`)
  await second.getByRole('button', { name: /^Account menu/ }).waitFor()
  // If the first tab signs in to the same account again, the second tab does not reload.
  await second.evaluate('globalThis.isTheSame = true')
  await signIn(first, stage, stage.admin)
  await second.bringToFront()
  expect(await second.evaluate('globalThis.isTheSame')).toBe(true)
  await signIn(first, stage, MIRA)
  await second.bringToFront()
  await second.getByRole('button', { name: 'Account menu, Mira Okafor' }).waitFor()
  await second.getByText(MIRA.email).waitFor()
  await first.context().close()
})

it('shows the account menu as specified', async () => {
  await openAccountMenu(mira)
  expect(await mira.getByRole('menuitem').allInnerTexts()).toEqual(['Invitations', 'Settings', 'Log Out'])
  await mira.keyboard.press('Escape')
  await openAccountMenu(admin)
  expect(await admin.getByRole('menuitem').allInnerTexts()).toEqual([
    'Invitations',
    'Settings',
    'Administration',
    'Log Out',
  ])
  await admin.keyboard.press('Escape')
  await expectGoodMenu(admin, 'account', openAccountMenu)
  // Phones have one menu for the pages and the theme.
  await expectGoodMenu(admin, 'pages', async () => {
    await admin.getByRole('button', { name: /^(Theme: |Open menu$)/ }).click()
    await admin.getByRole('menuitemradio').first().waitFor()
  })
})

it('loads the members of a large organization in pages, and filters them on the hub', async () => {
  const organizationId = pathId(mira)
  await mira.route('**/organizations_QueryMembers', route => {
    const { cursor, filter } = route.request().postDataJSON() as {
      cursor?: string
      filter?: { text: string }
    }
    const all = Array.from({ length: 130 }, (_, n) => ({
      userId: `u_${String(n).padStart(22, 'A')}`,
      displayName: `Person ${n}`,
      email: `person${n}@halden.example`,
      isAdmin: n === 0,
      memberSince: '2026-03-02T08:00:00Z',
    })).filter(({ displayName }) => displayName.includes(filter?.text ?? ''))
    const members = cursor ? all.slice(100) : all.slice(0, 100)
    const hasMore = !cursor && all.length > 100
    return route.fulfill({ json: { members, total: all.length, ...(hasMore && { nextCursor: 'next' }) } })
  })
  await mira.goto(`${stage.hub.url}/${organizationId}/settings/members`)
  await mira.getByText('100 of 130 members').waitFor()
  await mira.getByRole('button', { name: 'Load more' }).click()
  await rowOf(mira, 'person129@halden.example').waitFor()
  await mira.getByLabel('Filter members').fill('Person 7')
  await rowOf(mira, 'person129@halden.example').waitFor({ state: 'detached' })
  await rowOf(mira, 'person77@halden.example').waitFor()
  await mira.getByLabel('Filter members').fill('Nobody')
  await mira.getByText('No members match this filter.').waitFor()
  await expectGoodScreen(mira, 'members-none-match')
  await mira.unrouteAll()
})

it('shows a link to invitations to a person without an organization', async () => {
  const none = { organizations: [] }
  await mira.route('**/users_QueryOrganizations', route => route.fulfill({ json: none }))
  await mira.route('**/actor_GetActor', async route => {
    const response = await route.fetch()
    const answer = (await response.json()) as ActionOutput<'actor_GetActor'>
    const account = { ...answer.account, users_QueryOrganizations: none }
    await route.fulfill({ response, json: { ...answer, account } })
  })
  await mira.evaluate('localStorage.clear()')
  await mira.goto(stage.hub.url)
  await mira.getByRole('heading', { level: 1, name: 'No organization yet' }).waitFor()
  expect(await mira.getByRole('navigation', { name: 'Organization' }).count()).toBe(0)
  await expectGoodScreen(mira, 'no-organization')
  await mira.getByRole('link', { name: 'Invitations' }).click()
  await mira.waitForURL(/\/user\/invitations$/)
  await mira.getByRole('heading', { level: 1, name: 'Invitations' }).waitFor()
  await expectGoodScreen(mira, 'invitations-none')
  await mira.unrouteAll()
})

it('causes no error in any browser console', () => {
  expect(stage.faults).toEqual([])
})

/** The id at the start of a page's path. */
function pathId(page: Page): string {
  return new URL(page.url()).pathname.split('/')[1]!
}

function organizationId(): string {
  return pathId(admin)
}

async function organizationName(): Promise<string> {
  const button = admin.getByRole('button', { name: /^Organization / })
  return (await button.locator('.truncated').innerText()).trim()
}

function rowOf(page: Page, text: string) {
  return page.getByRole('row').filter({ hasText: text })
}

/** The name of a member in button labels: the display name, or else the email address. */
async function nameOf(email: string): Promise<string> {
  const label = await rowOf(admin, email)
    .getByRole('button', { name: /^Remove/ })
    .getAttribute('aria-label')
  return label!.replace('Remove ', '')
}

async function openInvite() {
  await admin.getByRole('button', { name: 'Invite User' }).click()
  return admin.getByRole('dialog', { name: 'Invite User' })
}

async function openOrganizationMenu(page: Page) {
  await page.getByRole('button', { name: /^Organization / }).click()
}

/** Opens the account menu. Resolves when its items are rendered. Their code is loaded when a menu is used for the first time. */
async function openAccountMenu(page: Page) {
  await page.getByRole('button', { name: /Account menu/ }).click()
  await page.getByRole('menuitem').first().waitFor()
}

/** Registers an account and activates it with the mailed link. */
async function signUp({ email, password }: Person, displayName: string) {
  await invoke(admin, 'users_Register', { email, password, displayName, consentedToTerms: true })
  const link = await mailedLink(stage, email, '/signup/verify')
  const activationToken = new URL(link).searchParams.get('jwt')!
  await invoke(admin, 'users_CompleteRegistration', { activationToken })
  const { users } = await invoke(admin, 'users_Query', { filter: { text: email } })
  return users[0]!
}
