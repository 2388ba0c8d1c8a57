import { randomBase58 } from '@muster/actions'
import {
  askUpgrade,
  auditEvents,
  capturedLog,
  connectDevice,
  type DeviceIdentity,
  databaseSession,
  deviceHeaders,
  deviceIdentity,
  type TestUser,
  testHub,
  type UpgradeAnswer,
} from '@muster/testkit'
import { sql } from 'kysely'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { loadConfig } from '../../platform/config/config.ts'
import type { RateLimits } from '../../platform/limits/rate-limits.ts'
import { EnrolmentBudget } from './enrolment-budget.ts'

const PROXY_SECRET = 'sixteen letters!'
const { limits } = loadConfig({})

const { log, named } = capturedLog()
const hub = await testHub(
  {
    trustedProxies: ['127.0.0.1'],
    proxySecret: PROXY_SECRET,
    limits: {
      ...limits,
      'address-new-devices': 300,
      'project-pending-devices': 20,
      'device-pending-certificates': 3,
    },
  },
  log,
)
afterAll(() => hub[Symbol.asyncDispose]())

/**
 * Certificate of all devices in these tests. The devices differ only in their device fingerprints, because generating a key for
 * each device would take long.
 */
let certificate: DeviceIdentity
beforeAll(async () => {
  certificate = await deviceIdentity()
})

let addresses = 0
/** Returns a client IP that no other test uses. */
const newAddress = (): string => `198.51.${Math.floor(++addresses / 250)}.${addresses % 250}`

const newFingerprint = (): string => `d_sk_${randomBase58(44)}`

/** Connects once as an agent does, and ends the connection again. */
async function attempt(
  token: string,
  {
    address = newAddress(),
    fingerprint = newFingerprint(),
    certificatePem = certificate.certificatePem,
  } = {},
): Promise<UpgradeAnswer> {
  const identity = { ...certificate, fingerprint, certificatePem }
  const answer = await askUpgrade(hub.url, {
    ...deviceHeaders({ url: hub.url, token, register: false }, identity),
    'x-forwarded-for': address,
    'x-muster-proxy-secret': PROXY_SECRET,
  })
  answer.socket?.destroy()
  return answer
}

const attempts = (count: number, token: string, options: Parameters<typeof attempt>[1] = {}) =>
  Promise.all(Array.from({ length: count }, () => attempt(token, options)))

const statuses = (answers: UpgradeAnswer[]) => Object.groupBy(answers, ({ status }) => status)

async function tokenOf(owner: TestUser, projectId: string, tokenId: string) {
  const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
  return tokens.find(token => token.tokenId === tokenId)!
}

async function rowsOf(projectId: string) {
  const { rows } = await sql<{ devices: number; events: number }>`
    select (select count(*) from device where project_id = ${projectId}) as devices,
           (select count(*) from audit_event where project_id = ${projectId} and event like 'devices_%') as events
  `.execute(hub.db)
  return rows[0]!
}

describe('the budget of a token for new devices', () => {
  it('S3: refuses devices beyond it before any row is written, with Retry-After', async () => {
    const { owner, projectId, tokenId, token } = await hub.fleet()
    await owner.invoke('projects_SetDeploymentTokenLimits', {
      tokenId,
      limits: { newDevicesAtOnce: 100, newDevicesPerHour: 60 },
    })
    const answers = statuses(await attempts(250, token, { address: newAddress() }))
    expect(answers[101]).toHaveLength(100)
    expect(answers[429]).toHaveLength(150)
    // The first 100 refusals of a client IP within a minute name the limit. Further refusals have the general error for too many
    // requests.
    const refused = answers[429]!.filter(({ body }) => body!.message.startsWith('Limit '))
    expect(refused).toHaveLength(100)
    for (const { body, retryAfterSecs } of refused) {
      expect(body).toEqual({
        kind: 'RateLimited',
        message:
          'Limit token-new-devices: found 101, expected at most 100 new devices at once. Try again later (60 an hour are let in), or raise the budget of the token.',
      })
      expect(retryAfterSecs).toBeGreaterThan(0)
      expect(retryAfterSecs).toBeLessThanOrEqual(3600)
    }
    // `Retry-After` differs between devices, so that they do not all retry at the same time.
    expect(new Set(refused.map(({ retryAfterSecs }) => retryAfterSecs)).size).toBeGreaterThan(20)
    expect(await rowsOf(projectId)).toEqual({ devices: 100, events: 200 })
    expect(await tokenOf(owner, projectId, tokenId)).toMatchObject({
      limits: { newDevicesAtOnce: 100, newDevicesPerHour: 60 },
      budget: { atOnce: 100, perHour: 60, left: 0 },
      enrolledDevices: 100,
      refusedDevices: 150,
    })
    await expect
      .poll(async () => (await tokenOf(owner, projectId, tokenId)).lastRefusal)
      .toMatchObject({ reason: expect.stringContaining('Limit token-new-devices'), count: 100 })
    expect(named('a limit was hit').filter(line => line.tokenId === tokenId)).toMatchObject([
      { limit: 'token-new-devices', projectId, count: 1 },
    ])
  })

  it('S3: admits known devices always, and new ones after it refills or is raised', async () => {
    const { owner, projectId, tokenId, token } = await hub.fleet()
    const set = (newDevicesAtOnce: number) =>
      owner.invoke('projects_SetDeploymentTokenLimits', {
        tokenId,
        limits: { newDevicesAtOnce, newDevicesPerHour: 60 },
      })
    await set(2)
    const known = newFingerprint()
    expect((await attempt(token, { fingerprint: known })).status).toBe(101)
    expect((await attempt(token)).status).toBe(101)
    const refused = await attempt(token)
    expect(refused).toMatchObject({ status: 429, retryAfterSecs: expect.any(Number) })
    expect(refused.retryAfterSecs).toBeGreaterThan(50)
    expect(refused.retryAfterSecs).toBeLessThanOrEqual(60)
    expect((await attempt(token, { fingerprint: known })).status).toBe(101)

    await sql`update deployment_token set budget_at = budget_at - interval '61 seconds' where token_id = ${tokenId}`.execute(
      hub.db,
    )
    expect((await attempt(token)).status).toBe(101)
    expect((await attempt(token)).status).toBe(429)
    await set(10)
    expect(await tokenOf(owner, projectId, tokenId)).toMatchObject({ refusedDevices: 0, budget: { left: 8 } })
    expect((await attempt(token)).status).toBe(101)
  })

  it('S3: is 10,000 at once and 600 an hour by default', async () => {
    const { owner, projectId, tokenId } = await hub.fleet()
    expect(await tokenOf(owner, projectId, tokenId)).toMatchObject({
      limits: {},
      budget: { atOnce: 10_000, perHour: 600, left: 10_000 },
      enrolledDevices: 0,
      refusedDevices: 0,
    })
  })

  it('S3: counts a device once when its first connections are concurrent', async () => {
    const { owner, projectId, tokenId, token } = await hub.fleet()
    const limits = { newDevicesAtOnce: 10_000, newDevicesPerHour: 1 }
    await owner.invoke('projects_SetDeploymentTokenLimits', { tokenId, limits })
    const answers = await attempts(8, token, { fingerprint: newFingerprint() })
    expect(statuses(answers)[101]).toHaveLength(8)
    await expect
      .poll(() => tokenOf(owner, projectId, tokenId))
      .toMatchObject({ enrolledDevices: 1, budget: { left: 9_999 } })
  })

  it('S3: is shared by nodes, whose statements wait for the lock on the row', async () => {
    const { owner, tokenId, token } = await hub.fleet()
    const limits = { newDevicesAtOnce: 5, newDevicesPerHour: 1 }
    await owner.invoke('projects_SetDeploymentTokenLimits', { tokenId, limits })
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query(
      'update deployment_token set budget_used = 4, budget_at = clock_timestamp() where token_id = $1',
      [tokenId],
    )
    const answers = attempts(5, token)
    await session.waitingStatements(1)
    await session.query('commit')
    expect(statuses(await answers)).toMatchObject({ 101: { length: 1 }, 429: { length: 4 } })
  })
})

describe('the limit of new devices of an address', () => {
  it('S3: covers all tokens used from that address, and affects no other address', async () => {
    const address = newAddress()
    const { owner, projectId, tokenId, token } = await hub.fleet()
    const second = await hub.token(owner, projectId)
    // All devices of a factory behind NAT have the same client IP. So a token with a larger budget also raises the limit per client IP
    // for its devices.
    const factory = await hub.token(owner, projectId)
    await owner.invoke('projects_SetDeploymentTokenLimits', {
      tokenId: factory.tokenId,
      limits: { newDevicesAtOnce: 12_000 },
    })
    const small = { newDevicesAtOnce: 200, newDevicesPerHour: 1 }
    await owner.invoke('projects_SetDeploymentTokenLimits', { tokenId, limits: small })
    await owner.invoke('projects_SetDeploymentTokenLimits', { tokenId: second.tokenId, limits: small })
    expect(statuses(await attempts(200, token, { address }))[101]).toHaveLength(200)
    const answers = await attempts(150, second.token, { address })
    expect(statuses(answers)).toMatchObject({ 101: { length: 100 }, 429: { length: 50 } })
    expect(answers.find(({ status }) => status === 429)).toMatchObject({
      body: {
        message: expect.stringContaining('Limit address-new-devices: found 301, expected at most 300'),
      },
      retryAfterSecs: expect.any(Number),
    })
    expect((await attempt(second.token)).status).toBe(101)
    expect((await attempt(factory.token, { address })).status).toBe(101)
    // The device of the other token counts for the address, too.
    expect(await attempt(second.token, { address })).toMatchObject({
      body: {
        message: expect.stringContaining('Limit address-new-devices: found 302, expected at most 300'),
      },
    })
    expect(await rowsOf(projectId)).toMatchObject({ devices: 302 })
  })
})

it('S3: a refusal names what is there, also after the limits of the token were lowered', async () => {
  const { owner, tokenId, token } = await hub.fleet()
  expect(statuses(await attempts(4, token))).toMatchObject({ 101: { length: 4 } })
  const lower = (limits: object) => owner.invoke('projects_SetDeploymentTokenLimits', { tokenId, limits })
  await lower({ newDevicesAtOnce: 2, newDevicesPerHour: 1 })
  expect(await attempt(token)).toMatchObject({
    status: 429,
    body: { message: expect.stringContaining('found 5, expected at most 2 new devices at once') },
  })
  await lower({ deviceLimit: 3 })
  expect(await attempt(token)).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('found 5, expected at most 3 devices') },
  })
})

describe('expiry and device limit of a token', () => {
  it('S3: refuse new devices and admit known ones', async () => {
    const { owner, projectId } = await hub.fleet()
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const { tokenId, token } = await owner.invoke('projects_CreateDeploymentToken', {
      projectId,
      name: 'Line 5',
      flags: { autoAccept: true },
      limits: { expiresAt, deviceLimit: 3 },
    })
    const known = newFingerprint()
    expect((await attempt(token, { fingerprint: known })).status).toBe(101)
    expect(statuses(await attempts(5, token))).toMatchObject({ 101: { length: 2 }, 409: { length: 3 } })
    expect(await attempt(token)).toMatchObject({
      status: 409,
      body: {
        kind: 'Invalid',
        message:
          'Limit token-devices: found 4, expected at most 3 devices. Raise the device limit of the token, or use another token.',
      },
      retryAfterSecs: undefined,
    })
    expect(await tokenOf(owner, projectId, tokenId)).toMatchObject({
      limits: { expiresAt, deviceLimit: 3 },
      enrolledDevices: 3,
      refusedDevices: 4,
    })

    const past = new Date(Date.now() - 1000).toISOString()
    await owner.invoke('projects_SetDeploymentTokenLimits', { tokenId, limits: { expiresAt: past } })
    expect(await attempt(token)).toMatchObject({
      status: 403,
      body: { kind: 'Forbidden', message: 'the deployment token has expired for new devices' },
    })
    expect((await attempt(token, { fingerprint: known })).status).toBe(101)
    await owner.invoke('projects_SetDeploymentTokenLimits', { tokenId, limits: {} })
    expect(await tokenOf(owner, projectId, tokenId)).toMatchObject({ limits: {}, refusedDevices: 0 })
    expect((await attempt(token)).status).toBe(101)
    const events = await auditEvents(hub)
    expect(
      events.filter(({ event }) => event === 'projects_DeploymentTokenLimitsChanged').slice(-2),
    ).toMatchObject([
      { data: { projectId, tokenId, limits: { expiresAt: past } } },
      { data: { projectId, tokenId, limits: {} } },
    ])
  })

  it.each([
    [{ deviceLimit: 0 }, 'limits.deviceLimit'],
    [{ newDevicesAtOnce: 1_000_001 }, 'limits.newDevicesAtOnce'],
    [{ newDevicesPerHour: 0.5 }, 'limits.newDevicesPerHour'],
    [{ expiresAt: 'tomorrow' }, 'limits.expiresAt'],
  ])('S3: cannot be set to %j', async (wrong, path) => {
    const { owner, tokenId } = await hub.fleet()
    await expect(
      owner.invoke('projects_SetDeploymentTokenLimits', { tokenId, limits: wrong }),
    ).rejects.toMatchObject({ kind: 'Invalid', issues: [{ path }] })
  })
})

describe('the number of pending certificates', () => {
  it('S3: is limited per project: further devices leave no row until others are removed', async () => {
    const { owner, projectId } = await hub.fleet()
    const { tokenId, token } = await hub.token(owner, projectId, false)
    const limits = { newDevicesAtOnce: 10_000, newDevicesPerHour: 1 }
    await owner.invoke('projects_SetDeploymentTokenLimits', { tokenId, limits })
    for (let device = 0; device < 20; device++) expect((await attempt(token)).status).toBe(403)
    const refused = await attempt(token)
    expect(refused).toMatchObject({
      status: 409,
      body: {
        message: expect.stringContaining('Limit project-pending-devices: found 21, expected at most 20'),
      },
    })
    expect(await rowsOf(projectId)).toMatchObject({ devices: 20 })
    expect(await tokenOf(owner, projectId, tokenId)).toMatchObject({
      enrolledDevices: 20,
      budget: { left: 9_980 },
    })
    await expect
      .poll(async () => (await tokenOf(owner, projectId, tokenId)).lastRefusal?.reason)
      .toContain('Limit project-pending-devices')
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    await owner.invoke('devices_Delete', { deviceId: devices[0]!.deviceId })
    expect((await attempt(token)).body).toMatchObject({ message: 'certificate is pending' })
  })

  it('S3: is limited per device, and the refusal is shown at the device', async () => {
    const { owner, projectId, token } = await hub.fleet()
    await using device = await connectDevice({
      url: hub.url,
      token,
      headers: { 'x-forwarded-for': newAddress(), 'x-muster-proxy-secret': PROXY_SECRET },
    })
    const { deviceId, identity } = device
    const { fingerprint } = identity
    const messages = []
    for (let count = 0; count < 5; count++) {
      const { certificatePem } = await deviceIdentity()
      const { body } = await attempt(token, { fingerprint, certificatePem })
      messages.push(body!.message)
    }
    expect(messages.slice(0, 3)).toEqual(Array(3).fill('certificate is pending'))
    const refused =
      'Limit device-pending-certificates: found 4, expected at most 3 pending certificates. Accept, reject or delete pending certificates of the device.'
    expect(messages.slice(3)).toEqual([refused, refused])
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
    expect(certificates).toHaveLength(4)
    await expect
      .poll(() => owner.invoke('devices_GetDetails', { deviceId }))
      .toMatchObject({
        lastRefusal: { reason: refused },
        limitHits: [{ limit: 'device-pending-certificates', message: refused }],
      })
    const another = Array.from({ length: 32 }, () => 'A0').join(':')
    await expect(
      owner.invoke('devices_AddCertificate', { deviceId, fingerprint: another }),
    ).rejects.toMatchObject({ status: 409, message: refused })
    expect(await rowsOf(projectId)).toMatchObject({ devices: 1 })
  })
})

it('S3: enrols 200 new devices at once with one token from one address', async () => {
  const { owner, projectId, tokenId, token } = await hub.fleet()
  const answers = await attempts(200, token, { address: newAddress() })
  expect(statuses(answers)[101]).toHaveLength(200)
  expect(await tokenOf(owner, projectId, tokenId)).toMatchObject({ enrolledDevices: 200, refusedDevices: 0 })
})

it('S26: known devices connect while the row of a token is locked and many new devices wait for it', async () => {
  const { tokenId, token } = await hub.fleet()
  const other = await hub.fleet()
  const fingerprint = newFingerprint()
  expect((await attempt(other.token, { fingerprint })).status).toBe(101)
  await using session = await databaseSession(hub)
  await session.query('begin')
  await session.query('select from deployment_token where token_id = $1 for update', [tokenId])
  let answered = 0
  // More than may authenticate at once.
  const waiting = Array.from({ length: 40 }, () => attempt(token).finally(() => answered++))
  await session.waitingStatements(1)
  expect((await attempt(other.token, { fingerprint })).status).toBe(101)
  expect(answered).toBe(0)
  await session.release()
  expect(statuses(await Promise.all(waiting))[101]).toHaveLength(40)
})

it('O21: a node has one statement for the budget of a token in flight, however many devices enrol', async () => {
  const answers: ((result: unknown) => void)[] = []
  const pool = { query: () => new Promise(answer => answers.push(answer)) } as unknown as pg.Pool
  const rates = { takeWithRate: async () => undefined } as unknown as RateLimits
  vi.useFakeTimers()
  try {
    const budget = new EnrolmentBudget({ pool, values: limits, rates })
    const tokenIds = ['deployment_id_a', 'deployment_id_b']
    const taken: Promise<void>[] = []
    for (let count = 0; count < 20; count++) {
      for (const tokenId of tokenIds)
        taken.push(
          budget.take({
            tokenId,
            address: '192.0.2.1',
            ownBudget: { atOnce: null, perHour: null },
            about: { tokenId },
          }),
        )
      // Longer than the time in which requests share a batch.
      await vi.advanceTimersByTimeAsync(25)
    }
    // One for each token.
    expect(answers).toHaveLength(2)
    let statements = 0
    while (answers.length > 0) {
      statements++
      answers.shift()!({ rows: [] })
      await vi.advanceTimersByTimeAsync(25)
    }
    await Promise.all(taken)
    expect(statements).toBeLessThanOrEqual(12)
  } finally {
    vi.useRealTimers()
  }
})
