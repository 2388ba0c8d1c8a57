import { type ActionError, MAX_ACTION_BODY_BYTES, MAX_DEVICE_JWT_LENGTH } from '@muster/actions'
import {
  type AskOptions,
  ask,
  auditRows,
  connectDevice,
  deviceRow,
  type FakeDevice,
  randomFingerprint,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let projectId: string
let device: FakeDevice
let deviceId: string

beforeAll(async () => {
  hub = await testHub()
  const fleet = await hub.fleet()
  ;({ owner, projectId } = fleet)
  device = await connectDevice({ url: hub.url, token: fleet.token })
  deviceId = device.deviceId
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

/** Adds an active certificate to a device and returns its id. */
async function addActiveCertificate(to: string): Promise<string> {
  const { certificateId } = await owner.invoke('devices_AddCertificate', {
    deviceId: to,
    fingerprint: randomFingerprint(),
    status: 'Active',
  })
  return certificateId
}

/** Issues a JWT whose claims have exactly the JSON text `claimsText`. */
async function issued(claimsText: string): Promise<string> {
  const body = `{"deviceId":"${deviceId}","claims":${claimsText}}`
  const answer = await ask(hub, '/api/v1/actions/invoke/devices_IssueDeviceToken', { as: owner, body })
  expect(answer.status, answer.text.slice(0, 200)).toBe(200)
  return answer.json<{ jwt: string }>().jwt
}

/** Validates a JWT, by default without credentials, and returns the text of the answer. */
async function validated(jwt: string, options: AskOptions = {}): Promise<string> {
  const body = { jwt }
  const answer = await ask(hub, '/api/v1/actions/invoke/devices_ValidateDeviceToken', { body, ...options })
  expect(answer.status, answer.text.slice(0, 200)).toBe(200)
  return answer.text
}

describe('device token', () => {
  it('is issued by the device or by a person, and can be validated without credentials', async () => {
    const claims = { role: 'camera', sub: 'root', aud: 'muster:activation', exp: 1 }
    for (const invoke of [device.invoke, owner.invoke as FakeDevice['invoke']]) {
      const { jwt } = (await invoke('devices_IssueDeviceToken', { deviceId, claims })) as { jwt: string }
      expect(await hub.anonymous('devices_ValidateDeviceToken', { jwt })).toEqual({
        result: 'Valid',
        deviceId,
        claims,
      })
      expect(decodeProtectedHeader(jwt)).toEqual({ alg: 'HS256', typ: 'muster-device+jwt' })
      const payload = decodeJwt(jwt)
      const certificate = invoke === device.invoke ? { certificateId: expect.stringMatching(/^d_c_/) } : {}
      expect(payload).toEqual({
        sub: deviceId,
        aud: 'muster:device',
        exp: expect.any(Number),
        claims,
        ...certificate,
      })
    }
    // The device's own call is telemetry and has no audit row. The person's call is audited, without the claims.
    expect(await auditRows(hub, 'devices_IssueDeviceToken')).toMatchObject([
      { actor: { actor: 'User', userId: owner.userId }, data: { deviceId }, status: 'Succeeded' },
    ])
  })

  it.each([
    [undefined, 3_600],
    [null, 3_600],
    [1, 1],
    [31_536_000, 31_536_000],
  ])('with validForSecs %s expires after %i s', async (validForSecs, lastsSecs) => {
    const earliest = Math.floor(Date.now() / 1000) + lastsSecs
    const { jwt } = await owner.invoke('devices_IssueDeviceToken', { deviceId, validForSecs })
    const latest = Math.floor(Date.now() / 1000) + lastsSecs
    const { exp } = decodeJwt(jwt)
    expect(exp).toBeGreaterThanOrEqual(earliest)
    expect(exp).toBeLessThanOrEqual(latest)
  })

  it.each([0, -1, 1.5, 31_536_001, '60'])('is refused with validForSecs %s', async validForSecs => {
    await expect(
      owner.invoke('devices_IssueDeviceToken', { deviceId, validForSecs: validForSecs as number }),
    ).rejects.toMatchObject({ kind: 'Invalid', issues: [{ path: 'validForSecs' }] })
  })

  it('carries null when claims are absent or null', async () => {
    const { jwt } = await owner.invoke('devices_IssueDeviceToken', { deviceId })
    expect(JSON.parse(await validated(jwt))).toEqual({ result: 'Valid', deviceId, claims: null })
    expect(JSON.parse(await validated(await issued('null')))).toMatchObject({ claims: null })
  })

  it.each([
    '0',
    '""',
    'false',
    '[]',
    '1.0',
    '-0',
    '1E+2',
    '12345678901234567890',
    '1e999',
    '"\\u0000\\ud800"',
    '"漢字😀"',
    '{"b":1.0,"a":[ 2,\t3 ],"b":2}',
    '{"__proto__":{"claims":1},"claims":{"claims":"}]\\""}}',
    `${'['.repeat(63)}${']'.repeat(63)}`,
  ])('returns the claims %s exactly as sent', async text => {
    expect(await validated(await issued(text))).toBe(
      `{"result":"Valid","deviceId":"${deviceId}","claims":${text}}`,
    )
  })

  it('carries claims up to the size of an answer, over HTTP and over the link', async () => {
    const largestBeside = (around: string): number =>
      Math.floor(((MAX_DEVICE_JWT_LENGTH - around.length) * 3) / 4) - 3
    const largest = largestBeside(await issued('""'))
    // A JWT that the device issues for itself also contains the id of the device's certificate, so less room is left for claims.
    const short = (await device.invoke('devices_IssueDeviceToken', { deviceId, claims: '' })) as {
      jwt: string
    }
    const claims = 'x'.repeat(largestBeside(short.jwt))
    const { jwt } = (await device.invoke('devices_IssueDeviceToken', { deviceId, claims })) as { jwt: string }
    expect(jwt.length).toBeLessThanOrEqual(MAX_DEVICE_JWT_LENGTH)
    expect(await device.invoke('devices_ValidateDeviceToken', { jwt })).toEqual({
      result: 'Valid',
      deviceId,
      claims,
    })
    expect((await validated(jwt, { as: owner })).length).toBeGreaterThan(claims.length)
    for (const tooMany of [largest + 8, MAX_ACTION_BODY_BYTES - 1024]) {
      const error = await owner
        .invoke('devices_IssueDeviceToken', { deviceId, claims: 'x'.repeat(tooMany) })
        .catch((error: ActionError) => error)
      expect(error).toMatchObject({
        kind: 'Invalid',
        status: 413,
        message: expect.stringMatching(/^claims: /),
      })
    }
  })

  it('is Invalid after its device was deleted', async () => {
    const gone = await deviceRow(hub, projectId)
    await addActiveCertificate(gone)
    const { jwt } = await owner.invoke('devices_IssueDeviceToken', { deviceId: gone })
    expect(JSON.parse(await validated(jwt))).toMatchObject({ result: 'Valid', deviceId: gone })
    await owner.invoke('devices_Delete', { deviceId: gone })
    expect(await validated(jwt)).toBe('{"result":"Invalid"}')
  })

  it('S10: is Invalid without an active certificate of its device', async () => {
    const bare = await deviceRow(hub, projectId)
    const { jwt } = await owner.invoke('devices_IssueDeviceToken', { deviceId: bare })
    expect(await validated(jwt)).toBe('{"result":"Invalid"}')
    const certificateId = await addActiveCertificate(bare)
    expect(JSON.parse(await validated(jwt))).toMatchObject({ result: 'Valid', deviceId: bare })
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
    expect(await validated(jwt)).toBe('{"result":"Invalid"}')
  })

  it('S10: issued by the device is Invalid once the certificate of its connection is revoked, despite another active one', async () => {
    const { owner, token } = await hub.fleet()
    await using other = await connectDevice({ url: hub.url, token })
    const own = { deviceId: other.deviceId }
    const { jwt } = (await other.invoke('devices_IssueDeviceToken', own)) as { jwt: string }
    const byPerson = await owner.invoke('devices_IssueDeviceToken', own)
    await owner.invoke('devices_AddCertificate', {
      ...own,
      fingerprint: randomFingerprint(),
      status: 'Active',
    })
    expect(JSON.parse(await validated(jwt))).toMatchObject({ result: 'Valid', ...own })
    const { certificates } = await owner.invoke('devices_GetDetails', own)
    const { certificateId } = certificates.find(one => one.certificateId === decodeJwt(jwt).certificateId)!
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
    expect(await validated(jwt)).toBe('{"result":"Invalid"}')
    expect(JSON.parse(await validated(byPerson.jwt))).toMatchObject({ result: 'Valid' })
  })

  it.each([
    [31_536_000, 86_400],
    [86_401, 86_400],
    [60, 60],
  ])('S10: issued by the device for %i s expires after %i s', async (validForSecs, lastsSecs) => {
    const earliest = Math.floor(Date.now() / 1000) + lastsSecs
    const asked = { deviceId, validForSecs }
    const { jwt } = (await device.invoke('devices_IssueDeviceToken', asked)) as { jwt: string }
    const { exp } = decodeJwt(jwt)
    expect(exp).toBeGreaterThanOrEqual(earliest)
    expect(exp).toBeLessThanOrEqual(Math.floor(Date.now() / 1000) + lastsSecs)
  })

  it('cannot be issued by a device for another device', async () => {
    const other = await deviceRow(hub, projectId)
    await expect(device.invoke('devices_IssueDeviceToken', { deviceId: other })).rejects.toMatchObject({
      kind: 'Forbidden',
    })
  })
})
