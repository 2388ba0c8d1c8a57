import { newId } from '@muster/actions'
import {
  connectDevice,
  databaseSession,
  deviceIdentity,
  deviceRow,
  failed,
  randomFingerprint,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  pendingGroups,
  pendingIds,
  pendingPage,
  pendingTotals,
  tokenAddresses,
} from './pending-certificates.ts'

let hub: TestHub
let owner: TestUser
let organizationId: string
let projectId: string
let minutesAgo = 0

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  organizationId = await hub.organization(owner)
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  projectId = await hub.project(owner, organizationId)
  minutesAgo = 500
})

type Seen = {
  tokenId?: string | null
  address?: string | null
  status?: 'Pending' | 'Active' | 'Rejected'
  deviceId?: string
  hostname?: string
  name?: string
  at?: Date
}

/** Inserts a certificate, a minute newer than the previous one. It belongs to a new device unless `deviceId` is given. */
async function seen({
  tokenId = null,
  address = null,
  status = 'Pending',
  deviceId,
  at,
  ...names
}: Seen = {}) {
  const isPending = status === 'Pending'
  const of = deviceId ?? (await deviceRow(hub, projectId, { ...names, pendingCertificates: 0 }))
  const certificateId = newId('d_c')
  await hub.db
    .insertInto('device_certificate')
    .values({
      certificate_id: certificateId,
      device_id: of,
      fingerprint: randomFingerprint(),
      status,
      token_id: tokenId,
      remote_address: address,
      first_seen: at ?? new Date(Date.now() - minutesAgo-- * 60_000),
    })
    .execute()
  if (isPending)
    await sql`update device set pending_certificates = pending_certificates + 1 where device_id = ${of}`.execute(
      hub.db,
    )
  return { certificateId, deviceId: of }
}

const ask = (input: object = {}) => owner.invoke('projects_QueryPendingCertificates', { projectId, ...input })

it('records token and address at the first sight of a certificate', async () => {
  const { token, tokenId } = await hub.token(owner, projectId, false)
  const identity = await deviceIdentity()
  await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject({ status: 403 })
  const { certificates, groups, total, deviceTotal } = await ask()
  expect(certificates).toMatchObject([{ tokenId, remoteAddress: '127.0.0.1' }])
  expect(groups).toMatchObject([
    {
      tokenId,
      tokenName: 'Test token',
      isTokenDeleted: false,
      remoteAddress: '127.0.0.1',
      certificateCount: 1,
    },
  ])
  expect([total, deviceTotal]).toEqual([1, 1])
  const { deviceId } = certificates[0]!
  const details = () => owner.invoke('devices_GetDetails', { deviceId })
  expect((await details()).certificates).toMatchObject([
    { tokenId, tokenName: 'Test token', remoteAddress: '127.0.0.1' },
  ])
  await owner.invoke('projects_DeleteDeploymentToken', { tokenId })
  expect((await details()).certificates[0]).toMatchObject({ tokenId })
  expect((await details()).certificates[0]).not.toHaveProperty('tokenName')
  expect((await ask()).groups).toMatchObject([{ tokenId, isTokenDeleted: true }])
})

it('returns no token and address of a certificate that was added by hand', async () => {
  const deviceId = await deviceRow(hub, projectId)
  await owner.invoke('devices_AddCertificate', { deviceId, fingerprint: randomFingerprint() })
  const { groups } = await ask()
  expect(groups[0]).not.toHaveProperty('tokenId')
  expect(groups[0]).not.toHaveProperty('remoteAddress')
})

describe('pending certificates', () => {
  it('are grouped by token and address, newest first, in pages that neither repeat nor skip one', async () => {
    const { tokenId: one } = await hub.token(owner, projectId)
    const { tokenId: other } = await hub.token(owner, projectId)
    const made: string[] = []
    for (let n = 0; n < 24; n++) {
      const tokenId = n % 3 === 0 ? one : other
      made.push((await seen({ tokenId, address: n % 2 ? '10.0.0.1' : '10.0.0.2' })).certificateId)
    }
    await seen({ status: 'Rejected' })
    const whole = await ask({ limit: 500 })
    expect(whole.total).toBe(24)
    expect(whole.groups).toHaveLength(4)
    const keys = whole.certificates.map(({ groupKey }) => groupKey)
    expect(keys.filter((key, at) => key !== keys[at - 1])).toHaveLength(4)
    expect(whole.certificates[0]!.certificateId).toBe(made.at(-1))
    for (const { groupKey, certificateCount } of whole.groups)
      expect(keys.filter(key => key === groupKey)).toHaveLength(certificateCount)

    const paged: string[] = []
    let cursor: string | undefined
    do {
      const page = await ask({ limit: 7, cursor })
      paged.push(...page.certificates.map(({ certificateId }) => certificateId))
      cursor = page.nextCursor
      // Adds a certificate between two pages. It must not change the order of the groups in the later pages.
      await seen({ tokenId: one, address: '10.0.0.1', at: new Date(Date.now() + 5_000) })
    } while (cursor !== undefined)
    expect(paged).toEqual(whole.certificates.map(({ certificateId }) => certificateId))
  })

  it('C30: are in pages with the groups unlike the others first, and marked', async () => {
    const { tokenId } = await hub.token(owner, projectId)
    const from = (address: string, status: 'Pending' | 'Active' = 'Pending', deviceId?: string) =>
      seen({ tokenId, address, status, ...(deviceId && { deviceId }) })
    const { deviceId } = await from('10.0.0.1', 'Active')
    await from('10.0.0.9', 'Active')
    const known = await from('10.0.0.9', 'Pending', deviceId)
    const foreign = await from('192.0.2.7')
    for (let n = 0; n < 4; n++) await from('10.0.0.1')
    const { groups } = await ask()
    expect(groups.map(({ remoteAddress, isUnlike }) => [remoteAddress, isUnlike])).toEqual([
      ['192.0.2.7', true],
      ['10.0.0.9', true],
      ['10.0.0.1', undefined],
    ])
    const paged: string[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await ask({ limit: 1, cursor })
      paged.push(...page.certificates.map(({ certificateId }) => certificateId))
      cursor = page.nextCursor
    }
    expect(paged).toHaveLength(6)
    expect(paged.slice(0, 2)).toEqual([foreign.certificateId, known.certificateId])
  })

  it.each([
    ['token', 2],
    ['address', 3],
    ['nothing', 1],
  ] as const)('are grouped by %s on request', async (groupBy, groups) => {
    const { tokenId } = await hub.token(owner, projectId)
    await seen({ tokenId, address: '10.0.0.1' })
    await seen({ tokenId, address: '10.0.0.2' })
    await seen()
    const answer = await ask({ groupBy })
    expect(answer.groups).toHaveLength(groups)
    const { groupKey, certificateCount } = answer.groups[0]!
    const ofGroup = await ask({ groupBy, filter: { groupKey }, idsOnly: true })
    expect(ofGroup.certificateIds).toHaveLength(certificateCount)
  })

  it('come with facts: a new address for the token, a known device, a host name that another device has', async () => {
    const { tokenId } = await hub.token(owner, projectId)
    for (let n = 0; n < 3; n++) await seen({ tokenId, address: '185.46.212.34', status: 'Active' })
    const known = await seen({ status: 'Active', hostname: 'crane-gw-1277', name: 'crane' })
    await deviceRow(hub, projectId, { hostname: 'crane-gw-1277', name: 'twin' })
    await seen({ tokenId, address: '91.64.178.20' })
    await seen({ tokenId, address: '185.46.212.34' })
    await seen({ deviceId: known.deviceId })
    const { certificates, groups } = await ask()
    expect(groups).toMatchObject([
      { certificateCount: 1, knownDeviceCount: 1 },
      {
        remoteAddress: '91.64.178.20',
        newAddress: { acceptedDevices: 3, addresses: ['185.46.212.34'], addressCount: 1 },
      },
      { remoteAddress: '185.46.212.34', knownDeviceCount: 0 },
    ])
    expect(groups[2]).not.toHaveProperty('newAddress')
    expect(certificates[0]).toMatchObject({
      name: 'crane',
      known: { isConnected: false },
      sameHostname: { name: 'twin' },
    })
    expect(certificates[1]).not.toHaveProperty('known')
  })

  it('say how many accepted devices with the token came from the same network', async () => {
    const { tokenId } = await hub.token(owner, projectId)
    for (const address of [
      '203.0.113.5',
      '203.0.113.9',
      '203.0.112.9',
      '2001:db8:0:7:1::1',
      '2001:db8:0:8::1',
    ])
      await seen({ tokenId, address, status: 'Active' })
    for (const address of ['203.0.113.77', '2001:db8:0:7::2', '198.51.100.1'])
      await seen({ tokenId, address })
    const { groups } = await ask()
    expect(groups.map(({ sameNetwork }) => sameNetwork)).toEqual([
      { network: '198.51.100.0/24', acceptedDevices: 0, ofDevices: 5 },
      { network: '2001:db8:0:7::2/64', acceptedDevices: 1, ofDevices: 5 },
      { network: '203.0.113.0/24', acceptedDevices: 2, ofDevices: 5 },
    ])
  })

  it('are found by token, address, host name, id and fingerprint', async () => {
    const { tokenId } = await hub.token(owner, projectId)
    const found = await seen({ tokenId, address: '91.64.178.20', hostname: 'pier6-gw-01' })
    await seen({ hostname: 'other' })
    const { certificates } = await ask({ filter: { text: 'PIER6' } })
    const { fingerprint } = certificates[0]!
    for (const text of ['test TOKEN', tokenId, '91.64', 'PIER6', found.deviceId, fingerprint.slice(6, 20)]) {
      const answer = await ask({ filter: { text } })
      expect(
        answer.certificates.map(({ certificateId }) => certificateId),
        text,
      ).toEqual([found.certificateId])
      expect(answer.total).toBe(1)
    }
    expect(await ask({ filter: { text: '%' } })).toMatchObject({ certificates: [], total: 0, groups: [] })
  })

  it('that come later are counted apart', async () => {
    await seen()
    const { seenUntil } = await ask()
    await seen({ at: new Date(Date.now() + 5_000) })
    expect(await ask({ filter: { seenUntil } })).toMatchObject({ total: 1, newerCount: 1 })
  })

  it.each([
    '!!!',
    'bm8',
    Buffer.from('["a","b","c","d","e"]').toString('base64url'),
    Buffer.from('[1,2]').toString('base64url'),
  ])('refuse the cursor %s', async cursor => {
    expect(await failed(ask({ cursor }))).toMatchObject({ kind: 'Invalid' })
  })

  it('are refused with what to do when reading them takes longer than 2 s', async () => {
    await seen()
    await using session = await databaseSession(hub)
    await session.lock('device_certificate')
    await expect(ask()).rejects.toMatchObject({
      kind: 'Invalid',
      status: 409,
      message: 'Listing the pending certificates took longer than 2 s: filter them.',
    })
    await session.release()
    expect(await ask()).toMatchObject({ total: 1 })
  })

  it('are read by indexes while 10,000 are pending', async () => {
    const { tokenId } = await hub.token(owner, projectId)
    const id = `translate(left(md5(i::text), 22), '0', 'z')`
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, pending_certificates, hostname)
       select 'd_' || ${id}, $1, 'd_pk_many' || i, convert_to('many' || i, 'UTF8'), 1, 'host-' || i from generate_series(1, 10000) i`,
      [projectId],
    )
    await hub.pool.query(
      `insert into device_certificate (certificate_id, device_id, fingerprint, status, token_id, remote_address)
       select 'd_c_' || ${id}, 'd_' || ${id}, i::text, 'Pending', $1, '10.0.0.' || i % 200
         from generate_series(1, 10000) i`,
      [tokenId],
    )
    // Inserts many devices of another project, so that a sequential scan would be expensive.
    const others = await hub.project(owner, organizationId)
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_far' || i, $1, 'd_pk_far' || i, convert_to('far' || i, 'UTF8') from generate_series(1, 25000) i`,
      [others],
    )
    await using session = await databaseSession(hub)
    await session.query('analyze device, device_certificate')
    const answer = await ask({ limit: 50 })
    expect(answer).toMatchObject({ total: 10_000, deviceTotal: 10_000 })
    expect((await ask({ idsOnly: true })).certificateIds).toHaveLength(10_000)

    const input = { projectId } as never
    const until = '2099-01-01 00:00:00+00'
    const planOf = async (statement: RawBuilder<unknown>, db = hub.db) => {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${statement}`.execute(db)
      return rows.map(row => row['QUERY PLAN']).join('\n')
    }
    for (const statement of [
      pendingPage(input, until, 50, undefined),
      pendingGroups(input, until, [answer.groups[0]!.groupKey]),
      pendingTotals(input, until),
      pendingIds(input, until),
    ])
      expect(await planOf(statement)).not.toMatch(
        /Seq Scan on (device|device_certificate_change|audit_event)( |$)/m,
      )
    expect(await planOf(pendingPage(input, until, 50, undefined))).toContain('device_by_hostname_start')
    await hub.db.transaction().execute(async tx => {
      await sql`set local enable_seqscan = off`.execute(tx)
      expect(await planOf(tokenAddresses([tokenId]), tx)).toContain('device_certificate_by_token')
    })
  })
})
