import { newId } from '@muster/actions'
import { auditEvents, liveStream, type TestHub, type TestUser, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const NOT_PERMITTED = { kind: 'Forbidden', status: 403, message: 'You are not permitted to do this.' }

let hub: TestHub
/** Administrator of the organization of each test. */
let ada: TestUser
/** Member of the organization of each test. */
let grace: TestUser
let organizationId: string

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user({ displayName: 'Ada' })
  grace = await hub.user()
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  organizationId = await hub.organization(ada, [grace])
  await hub.db.deleteFrom('audit_event').execute()
})

describe('organizations_InviteMember', () => {
  it('invites an address by mail and shows the invitation to all members', async () => {
    await using console = await liveStream(hub, grace)
    const email = newEmail()
    const { invitationId } = await ada.invoke('organizations_InviteMember', {
      organizationId,
      email: ` ${email} `,
    })
    expect(await grace.invoke('organizations_QueryInvitations', { organizationId })).toEqual({
      invitations: [{ invitationId, email, invitingUserId: ada.userId }],
    })
    expect(await auditEvents(hub, 'organizations_InvitationCreated')).toMatchObject([
      { data: { organizationId, invitationId, email }, organizationId },
    ])
    await until('the notice to members', () => console.changes.some(({ topic }) => topic === 'members'))
    const [mail] = await hub.mailsTo(email)
    expect(mail!.link).toBe(`${hub.publicUrl}/signup/`)
  })

  it('notifies an invited account without revealing to the inviter that it exists', async () => {
    const invited = await hub.user()
    await using console = await liveStream(hub, invited)
    const { invitationId, ...rest } = await ada.invoke('organizations_InviteMember', {
      organizationId,
      email: invited.email.toUpperCase(),
    })
    expect(rest).toEqual({})
    await until('the notice to the invited person', () =>
      console.changes.some(({ topic }) => topic === 'invitations'),
    )
    const { invitations } = await invited.invoke('users_QueryOrganizationInvitations', {
      userId: invited.userId,
    })
    expect(invitations).toEqual([
      { invitationId, organization: { organizationId, name: 'Test organization' } },
    ])
  })

  it('returns the open invitation of an address again, in any letter case, and sends no other mail', async () => {
    const email = newEmail()
    const first = await ada.invoke('organizations_InviteMember', { organizationId, email })
    for (const spelling of [email, email.toUpperCase()])
      expect(await ada.invoke('organizations_InviteMember', { organizationId, email: spelling })).toEqual(
        first,
      )
    expect(await auditEvents(hub, 'organizations_InvitationCreated')).toHaveLength(1)
    expect(await invitationJobs(first.invitationId)).toBe(1)
  })

  it('creates one invitation for 20 calls at once', async () => {
    const email = newEmail()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        ada.invoke('organizations_InviteMember', {
          organizationId,
          email: index % 2 ? email : email.toUpperCase(),
        }),
      ),
    )
    expect(new Set(answers.map(({ invitationId }) => invitationId)).size).toBe(1)
    const { invitations } = await ada.invoke('organizations_QueryInvitations', { organizationId })
    expect(invitations).toHaveLength(1)
    expect(await invitationJobs(answers[0]!.invitationId)).toBe(1)
  })

  it('refuses the address of a member', async () => {
    const email = grace.email.toUpperCase()
    await expect(ada.invoke('organizations_InviteMember', { organizationId, email })).rejects.toMatchObject({
      kind: 'Invalid',
      status: 409,
      message: `${email} is already a member.`,
    })
  })

  it('limits the rate of each caller, unaffected by the calls of others', async () => {
    const otherTenant = await hub.user()
    const owner = await hub.user()
    const ofOwner = await hub.organization(owner)
    const invite = (who: TestUser) =>
      who.invoke('organizations_InviteMember', { organizationId: ofOwner, email: owner.email })
    for (const who of [otherTenant, owner]) {
      const kinds = await Promise.all(
        Array.from({ length: 110 }, () => invite(who).catch((error: { kind: string }) => error.kind)),
      )
      expect(kinds.filter(kind => kind === 'RateLimited')).toHaveLength(10)
    }
    await expect(invite(owner)).rejects.toMatchObject({ status: 429, retryAfterSecs: expect.any(Number) })
  })

  it.each([
    'مثال@مثال.إختبار',
    'zoë+muster@exämple.test',
    '😀@emoji.test',
    "o'neil&sons@example.test",
    '{{7*7}}@example.test',
    `${'x'.repeat(200)}@example.test`,
  ])('stores %j unchanged', async email => {
    const { invitationId } = await ada.invoke('organizations_InviteMember', { organizationId, email })
    const { invitations } = await ada.invoke('organizations_QueryInvitations', { organizationId })
    expect(invitations).toMatchObject([{ invitationId, email }])
  })

  it.each([
    ['', 'expected an email address'],
    ['   ', 'expected an email address'],
    ['ada', 'expected an email address'],
    ['ada@example', 'expected an email address'],
    ['@example.test', 'expected an email address'],
    ['a b@example.test', 'expected an email address'],
    ['a@b@example.test', 'expected an email address'],
    ['a@example.test, b@example.test', 'expected an email address'],
    ['a@example.test\r\nBcc: b@example.test', 'expected an email address'],
    ['<script>alert(1)</script>@example.test', 'expected an email address'],
    ['"ada"@example.test', 'expected an email address'],
    [`${'x'.repeat(10_000)}@example.test`, 'must have at most 254 characters'],
    ['\ud800@example.test', 'expected an email address'],
  ])('refuses %j with an issue at its field', async (email, message) => {
    await expect(ada.invoke('organizations_InviteMember', { organizationId, email })).rejects.toMatchObject({
      kind: 'Invalid',
      issues: [{ path: 'email', message }],
    })
  })
})

describe('organizations_QueryInvitations', () => {
  it('lists the invitations of this organization only, newest first', async () => {
    const other = await hub.organization(ada)
    const emails = [newEmail(), newEmail(), newEmail()]
    for (const email of emails) await ada.invoke('organizations_InviteMember', { organizationId, email })
    await ada.invoke('organizations_InviteMember', { organizationId: other, email: emails[0]! })
    const { invitations } = await grace.invoke('organizations_QueryInvitations', { organizationId })
    expect(invitations.map(({ email }) => email)).toEqual(emails.toReversed())
  })

  it('finds invitations by a literal part of the address or id, in any letter case', async () => {
    const emails = ['a_b@find.test', 'axb@find.test', 'OTHER@find.test']
    const ids: string[] = []
    for (const email of emails)
      ids.push((await ada.invoke('organizations_InviteMember', { organizationId, email })).invitationId)
    const found = async (text: string): Promise<string[]> => {
      const input = { organizationId, filter: { text }, sort: 'email' }
      const { invitations } = await ada.invoke('organizations_QueryInvitations', input)
      return invitations.map(({ email }) => email)
    }
    expect(await found('a_b')).toEqual(['a_b@find.test'])
    expect(await found('other@')).toEqual(['OTHER@find.test'])
    expect(await found(ids[1]!.slice(-8))).toEqual(['axb@find.test'])
    expect(await found('%')).toEqual([])
  })
})

describe('organizations_DeleteInvitation', () => {
  it('withdraws an invitation, is audited, and notifies the invited person and the members', async () => {
    const invited = await hub.user()
    const { invitationId } = await ada.invoke('organizations_InviteMember', {
      organizationId,
      email: invited.email,
    })
    await using console = await liveStream(hub, invited)
    await using others = await liveStream(hub, grace)
    expect(await ada.invoke('organizations_DeleteInvitation', { invitationId })).toEqual({})
    const { invitations } = await ada.invoke('organizations_QueryInvitations', { organizationId })
    expect(invitations).toEqual([])
    expect(await auditEvents(hub, 'organizations_InvitationDeleted')).toMatchObject([
      { data: { organizationId, invitationId }, organizationId },
    ])
    await until('the notice to the invited person', () =>
      console.changes.some(({ topic }) => topic === 'invitations'),
    )
    await until('the notice to members', () => others.changes.some(({ topic }) => topic === 'members'))
    const joining = invited.invoke('users_AcceptOrganizationInvitation', { invitationId })
    await expect(joining).rejects.toMatchObject(NOT_PERMITTED)
  })

  it('allows another invitation of the same address', async () => {
    const email = newEmail()
    const first = await ada.invoke('organizations_InviteMember', { organizationId, email })
    await ada.invoke('organizations_DeleteInvitation', first)
    const second = await ada.invoke('organizations_InviteMember', { organizationId, email })
    expect(second).not.toEqual(first)
  })

  it('refuses members and the invited person', async () => {
    const invited = await hub.user()
    const { invitationId } = await ada.invoke('organizations_InviteMember', {
      organizationId,
      email: invited.email,
    })
    for (const person of [grace, invited]) {
      const deleting = person.invoke('organizations_DeleteInvitation', { invitationId })
      await expect(deleting).rejects.toMatchObject(NOT_PERMITTED)
    }
  })

  it('leaves a consistent state when an invitation is withdrawn, accepted and repeated at once', async () => {
    for (let round = 0; round < 5; round++) {
      const invited = await hub.user()
      const { email } = invited
      const { invitationId } = await ada.invoke('organizations_InviteMember', { organizationId, email })
      await hub.db.deleteFrom('audit_event').execute()
      const [withdrawn, accepted, again] = await Promise.all(
        [
          ada.invoke('organizations_DeleteInvitation', { invitationId }),
          invited.invoke('users_AcceptOrganizationInvitation', { invitationId }),
          ada.invoke('organizations_InviteMember', { organizationId, email }),
        ].map(call =>
          (call as Promise<unknown>).then(
            () => 'ok',
            (error: { kind: string }) => error.kind,
          ),
        ),
      )
      // Either the withdrawal or the acceptance deletes the invitation. The later of these two calls is refused.
      expect([withdrawn, accepted].sort()).toEqual(['Forbidden', 'ok'])
      expect(['ok', 'Invalid']).toContain(again)
      const { members } = await ada.invoke('organizations_QueryMembers', { organizationId })
      expect(members.some(({ userId }) => userId === invited.userId)).toBe(accepted === 'ok')
      expect(await auditEvents(hub, 'organizations_MemberAdded')).toHaveLength(accepted === 'ok' ? 1 : 0)
    }
  })
})

function newEmail(): string {
  return `${newId('u')}@test.example`
}

/** Counts the mails that were queued for an invitation. */
async function invitationJobs(invitationId: string): Promise<number> {
  const { rows } = await hub.pool.query(
    `select 1 from pgboss.job where name = 'organizations_SendInvitationEmail' and data::text like $1`,
    [`%${invitationId}%`],
  )
  return rows.length
}
