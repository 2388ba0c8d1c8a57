import { newId } from '@muster/actions'
import {
  auditEvents,
  liveStream,
  mailServer,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { sql } from 'kysely'
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
      invitations: [
        {
          invitationId,
          email,
          invitingUserId: ada.userId,
          invitingName: 'Ada',
          createdAt: expect.any(String),
          endsAt: expect.any(String),
          link: expect.stringMatching(/\/signup\/\?invitation=[0-9a-f-]{36}$/),
          mail: { state: expect.any(String) },
        },
      ],
    })
    expect(await auditEvents(hub, 'organizations_InvitationCreated')).toMatchObject([
      { data: { organizationId, invitationId, email }, organizationId },
    ])
    await until('the notice to members', () => console.changes.some(({ topic }) => topic === 'members'))
    const [mail] = await hub.mailsTo(email)
    const { invitations } = await grace.invoke('organizations_QueryInvitations', { organizationId })
    expect(mail!.link).toBe(invitations[0]!.link)
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

describe('organizations_ResendInvitation', () => {
  it('mails another link, ends the former one and gives the invitation its full time again', async () => {
    const { invitationId, email } = await invited()
    const before = await invitation(invitationId)
    await endsIn(invitationId, '1 hour')
    await using console = await liveStream(hub, grace)
    expect(await ada.invoke('organizations_ResendInvitation', { invitationId })).toEqual({})
    const after = await invitation(invitationId)
    expect(after.link).not.toBe(before.link)
    expect(Date.parse(after.endsAt!) - Date.now()).toBeGreaterThan(6.9 * 86_400_000)
    expect(await opened(before.link)).toEqual({ result: 'NotFound' })
    expect(await opened(after.link)).toEqual({
      result: 'Found',
      email,
      organizationName: 'Test organization',
    })
    expect(await auditEvents(hub, 'organizations_InvitationResent')).toMatchObject([
      { data: { organizationId, invitationId, email }, organizationId },
    ])
    await until('the notice to members', () => console.changes.some(({ topic }) => topic === 'members'))
    await until('a mail with the new link', async () =>
      (await hub.mailsTo(email)).some(({ link }) => link === after.link),
    )
  })

  it('is sent again at most three times in 24 hours, and says when the next one is possible', async () => {
    const { invitationId, email } = await invited()
    for (let time = 0; time < 3; time++) {
      await sentEarlier(email, '5 hours')
      await ada.invoke('organizations_ResendInvitation', { invitationId })
    }
    await sentEarlier(email, '5 minutes')
    const { link } = await invitation(invitationId)
    await expect(ada.invoke('organizations_ResendInvitation', { invitationId })).rejects.toMatchObject({
      kind: 'RateLimited',
      status: 429,
      message: `Found 4 invitations mailed to ${email} within 24 hours, expected at most 4: send it again in 14 hours, or copy the link.`,
      retryAfterSecs: expect.any(Number),
    })
    expect((await invitation(invitationId)).link).toBe(link)
    // Now the invitation itself is older than a day, so only the three mails after it count.
    await sentEarlier(email, '10 hours')
    await expect(ada.invoke('organizations_ResendInvitation', { invitationId })).rejects.toMatchObject({
      message: `Found 3 invitations mailed to ${email} within 24 hours, expected at most 3: send it again in 4 hours, or copy the link.`,
    })
    await sentEarlier(email, '5 hours')
    expect(await ada.invoke('organizations_ResendInvitation', { invitationId })).toEqual({})
  })

  it('counts the mails to an address over withdrawn invitations and all organizations', async () => {
    const { invitationId, email } = await invited()
    await ada.invoke('organizations_DeleteInvitation', { invitationId })
    await ada.invoke('organizations_DeleteInvitation', await invited(email.toUpperCase()))
    await invited(email)
    const elsewhere = await hub.organization(grace)
    const invite = { organizationId: elsewhere, email }
    const fourth = await grace.invoke('organizations_InviteMember', invite)
    expect(await invitationJobs(fourth.invitationId)).toBe(1)
    await grace.invoke('organizations_DeleteInvitation', fourth)
    const fifth = await grace.invoke('organizations_InviteMember', invite)
    expect(await invitationJobs(fifth.invitationId)).toBe(0)
    const { invitations } = await grace.invoke('organizations_QueryInvitations', {
      organizationId: elsewhere,
    })
    expect(invitations).toMatchObject([
      { email, mail: { state: 'NotSent', reason: expect.stringContaining('or copy the link.') } },
    ])
  })

  it('sends one mail for two people who click at once', async () => {
    const other = await hub.user()
    await ada.invoke('organizations_InviteMember', { organizationId, email: other.email })
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: other.userId, is_admin: true })
      .execute()
    const { invitationId } = await invited()
    const jobs = await invitationJobs(invitationId)
    const answers = [ada, other].map(person =>
      person.invoke('organizations_ResendInvitation', { invitationId }),
    )
    expect(await Promise.all(answers)).toEqual([{}, {}])
    expect(await invitationJobs(invitationId)).toBe(jobs + 1)
    expect(await auditEvents(hub, 'organizations_InvitationResent')).toHaveLength(1)
  })

  it('says that the invitation has gone when it is accepted at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const person = await hub.user()
      const { invitationId } = await invited(person.email)
      const [accepted, sent] = await Promise.allSettled([
        person.invoke('users_AcceptOrganizationInvitation', { invitationId }),
        ada.invoke('organizations_ResendInvitation', { invitationId }),
      ])
      expect(accepted.status).toBe('fulfilled')
      if (sent.status === 'rejected') expect(['Forbidden', 'Invalid']).toContain(sent.reason.kind)
      const { members } = await ada.invoke('organizations_QueryMembers', { organizationId })
      expect(members.some(({ userId }) => userId === person.userId)).toBe(true)
    }
  })
})

describe('an invitation that has ended', () => {
  it('is neither listed for the person nor accepted, and works again once it is sent again', async () => {
    const person = await hub.user()
    const { invitationId } = await invited(person.email)
    const { link } = await invitation(invitationId)
    await endsIn(invitationId, '-1 second')
    const listed = async () =>
      (await person.invoke('users_QueryOrganizationInvitations', { userId: person.userId })).invitations
    expect(await listed()).toEqual([])
    expect(await opened(link)).toEqual({ result: 'NotFound' })
    await expect(person.invoke('users_AcceptOrganizationInvitation', { invitationId })).rejects.toMatchObject(
      {
        kind: 'Invalid',
        status: 409,
        message: 'This invitation has ended: ask for it to be sent again.',
      },
    )
    await ada.invoke('organizations_ResendInvitation', { invitationId })
    expect(await listed()).toMatchObject([{ invitationId }])
    expect(await person.invoke('users_AcceptOrganizationInvitation', { invitationId })).toEqual({})
  })

  it('is replaced by another invitation of its address', async () => {
    const { invitationId, email } = await invited()
    await endsIn(invitationId, '-1 second')
    const next = await ada.invoke('organizations_InviteMember', { organizationId, email })
    expect(next.invitationId).not.toBe(invitationId)
    const { invitations } = await ada.invoke('organizations_QueryInvitations', { organizationId })
    expect(invitations.map(one => one.invitationId)).toEqual([next.invitationId])
    expect(await auditEvents(hub, 'organizations_InvitationDeleted')).toMatchObject([
      { data: { organizationId, invitationId } },
    ])
  })
})

describe('organizations_GetInvitation', () => {
  it('gives no right: whoever opens the link needs the account with the address', async () => {
    const { invitationId } = await invited()
    const { link } = await invitation(invitationId)
    const thief = await hub.user()
    await expect(thief.invoke('users_AcceptOrganizationInvitation', { invitationId })).rejects.toMatchObject(
      NOT_PERMITTED,
    )
    expect(await opened(link)).toMatchObject({ result: 'Found' })
  })

  it('refuses what is no id of a link', async () => {
    await expect(grace.invoke('organizations_GetInvitation', { linkId: 'x' })).rejects.toMatchObject({
      kind: 'Invalid',
      issues: [{ path: 'linkId' }],
    })
  })
})

describe('the state of the mail', () => {
  it('is "Sent", or "NotSent" with the answer of the mail server', async () => {
    await using server = await mailServer()
    await using mailing = await testHub({ smtpUrl: server.url })
    const owner = await mailing.user()
    const ofOwner = await mailing.organization(owner)
    const mailOf = async (email: string) => {
      const { invitations } = await owner.invoke('organizations_QueryInvitations', {
        organizationId: ofOwner,
      })
      return invitations.find(one => one.email === email)?.mail
    }
    await owner.invoke('organizations_InviteMember', { organizationId: ofOwner, email: 'good@test.example' })
    await expect.poll(() => mailOf('good@test.example')).toEqual({ state: 'Sent' })

    server.refuseNext(1, 550)
    const refused = await owner.invoke('organizations_InviteMember', {
      organizationId: ofOwner,
      email: 'bad@test.example',
    })
    await expect
      .poll(() => mailOf('bad@test.example'))
      .toEqual({ state: 'NotSent', reason: expect.stringMatching(/^The mail server refused it: .*refused/) })
    await owner.invoke('organizations_ResendInvitation', refused)
    await expect.poll(() => mailOf('bad@test.example')).toEqual({ state: 'Sent' })

    server.refuseNext(1, 450)
    await owner.invoke('organizations_InviteMember', { organizationId: ofOwner, email: 'later@test.example' })
    const reason = 'The mail server did not take it. The hub tries again for up to an hour.'
    await expect.poll(() => mailOf('later@test.example')).toEqual({ state: 'Sending', reason })
    await mailing.db
      .updateTable('organization_invitation')
      .set({ mail_queued_at: sql`now() - interval '3 hours'` })
      .where('email', '=', 'later@test.example')
      .execute()
    expect(await mailOf('later@test.example')).toMatchObject({ state: 'NotSent' })
  })

  it('is absent for an invitation that was stored before there were states', async () => {
    await hub.db
      .insertInto('organization_invitation')
      .values({ invitation_id: newId('org_invite'), organization_id: organizationId, email: newEmail() })
      .execute()
    const { invitations } = await ada.invoke('organizations_QueryInvitations', { organizationId })
    expect(invitations).toEqual([
      {
        invitationId: expect.any(String),
        email: expect.any(String),
        createdAt: expect.any(String),
        link: expect.any(String),
      },
    ])
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

/** Invites an address to the organization of the test. */
async function invited(email = newEmail()) {
  const { invitationId } = await ada.invoke('organizations_InviteMember', { organizationId, email })
  return { invitationId, email }
}

async function invitation(invitationId: string) {
  const { invitations } = await ada.invoke('organizations_QueryInvitations', { organizationId })
  return invitations.find(one => one.invitationId === invitationId)!
}

/** Moves the invitation of an address and the times of its mails into the past by `time`, a PostgreSQL interval. */
async function sentEarlier(email: string, time: string) {
  await hub.db
    .updateTable('invitation_mail')
    .set({ queued_at: sql`array(select at - ${time}::interval from unnest(queued_at) at)` })
    .where('email', '=', email.toLowerCase())
    .execute()
  await hub.db
    .updateTable('organization_invitation')
    .set({
      created_at: sql`created_at - ${time}::interval`,
      resent_at: sql`array(select at - ${time}::interval from unnest(resent_at) at)`,
    })
    .where('email', '=', email)
    .execute()
}

function endsIn(invitationId: string, time: string) {
  return hub.db
    .updateTable('organization_invitation')
    .set({ expires_at: sql`now() + ${time}::interval` })
    .where('invitation_id', '=', invitationId)
    .execute()
}

/** Answer to an unauthenticated client that opens a link. */
function opened(link: string) {
  const linkId = new URL(link).searchParams.get('invitation')!
  return hub.anonymous('organizations_GetInvitation', { linkId })
}

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
