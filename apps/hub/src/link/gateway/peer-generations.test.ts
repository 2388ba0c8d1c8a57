import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { newDatedId } from '@muster/actions'
import {
  type Age,
  capturedLog,
  databaseSession,
  deviceIdentity,
  digestOf,
  MalformedOutput,
  type PublicAgent,
  publicAgent,
  publicCommandLine,
  randomFingerprint,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// Simulations of the published Nexigon agents and command-line clients of 2025 and 2026 (docs/protocol.md) use a real hub.
// Peers of 2025 and peers of 2026 must work fully.

const captured = capturedLog()
let hub: TestHub
/** TCP echo service and web application of the device. */
let echo: Server
let web: ReturnType<typeof createHttpServer>
const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port

beforeAll(async () => {
  hub = await testHub({}, captured.log)
  echo = createServer({ allowHalfOpen: true }, socket => socket.on('error', () => {}).pipe(socket))
  echo.listen(0, '127.0.0.1')
  web = createHttpServer((incoming, response) => {
    const size = Number(new URL(incoming.url!, 'http://app').searchParams.get('size'))
    if (size) response.end(Buffer.alloc(size, 'x'))
    else incoming.pipe(response)
  }).listen(0, '127.0.0.1')
  await Promise.all([once(echo, 'listening'), once(web, 'listening')])
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  echo.close()
  web.closeAllConnections()
  web.close()
  expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
})

function event(body: unknown, at = new Date()) {
  const eventId = newDatedId('d_ev', at)
  return { eventId, category: 'ota', severity: 'Info', body, attributes: {}, emittedAt: at.toISOString() }
}

/** Sends bytes through the local port of a forward, ends the writing side, and reads the answer. */
async function exchange(localPort: number, bytes: Uint8Array): Promise<Buffer> {
  const socket: Socket = connect({ port: localPort, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(bytes)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Sends a request to the host name of a device, as a browser does. */
async function browse(
  url: string,
  cookie?: string,
): Promise<{ status: number; cookie: string; body: string }> {
  const { host, pathname, search } = new URL(url)
  const outgoing = request({
    port: hub.address.port,
    host: '127.0.0.1',
    path: pathname + search,
    headers: { host, ...(cookie && { cookie }) },
  }).end()
  const [answer] = await once(outgoing, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  return {
    status: answer.statusCode,
    cookie: String(answer.headers['set-cookie'] ?? '').split(';')[0]!,
    body: Buffer.concat(chunks).toString(),
  }
}

/** Opens the web pages of a device by an issued URL. Returns a function that requests one page. */
async function openPages(url: string): Promise<(path: string) => ReturnType<typeof browse>> {
  const { cookie } = await browse(url)
  return path => browse(new URL(path, url).href, cookie)
}

describe.each<Age>(['2025', '2026'])('an agent of %s', age => {
  it('connects, reads its device id, and reports its system information', async () => {
    const { owner, projectId, token } = await hub.fleet()
    await using agent = await publicAgent({ age, url: hub.url, token })
    const { deviceId } = agent
    const answers = await agent.started
    expect(answers[0]).toEqual({ result: 'Set' })
    if (age === '2026') expect(answers.slice(1)).toEqual([{ result: 'Set' }, { work: [] }])
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices).toMatchObject([{ deviceId, isConnected: true, status: 'healthy', hostname: 'dev-1' }])
  })

  it('reads, sets and removes properties with its one-shot commands, which are not shown as connections', async () => {
    const { owner, token } = await hub.fleet()
    await using agent = await publicAgent({ age, url: hub.url, token })
    const { deviceId, oneShot } = agent
    const value = { path: 'repo/package/stable', nothing: null, n: 1e21, text: 'é\u0000' }
    expect(await oneShot('devices_GetProperty', { name: 'dev.nexigon.ota.config' })).toEqual({
      result: 'NotFound',
    })
    for (const version of [1, 2]) {
      expect(await oneShot('devices_SetProperty', { name: 'dev.nexigon.ota.status', value })).toEqual({
        result: 'Set',
      })
      expect(await oneShot('devices_GetProperty', { name: 'dev.nexigon.ota.status' })).toEqual({
        result: 'Found',
        name: 'dev.nexigon.ota.status',
        value,
        protected: false,
        version,
        lastUpdated: expect.stringMatching(/^\d{4}-.*Z$/),
      })
    }
    expect(await oneShot('devices_RemoveProperty', { name: 'dev.nexigon.ota.status' })).toEqual({
      result: 'Removed',
    })
    const { connections } = await owner.invoke('devices_GetDetails', { deviceId })
    expect(connections).toHaveLength(1)
  })

  it('sets a property only at the version that it expects', async () => {
    const { token } = await hub.fleet()
    await using agent = await publicAgent({ age, url: hub.url, token })
    const set = (expectedVersion: number) =>
      agent.oneShot('devices_SetProperty', { name: 'a', value: expectedVersion, expectedVersion })
    await agent.oneShot('devices_SetProperty', { name: 'a', value: 0 })
    expect(await set(7)).toEqual({ result: 'VersionConflict', currentVersion: 1 })
    expect(await set(1)).toEqual({ result: 'Set' })
    await agent.oneShot('devices_RemoveProperty', { name: 'a' })
    expect(await set(2)).toEqual({ result: 'Deleted' })
  })

  it('emits events, which are stored once even when sent twice', async () => {
    const { owner, token } = await hub.fleet()
    await using agent = await publicAgent({ age, url: hub.url, token })
    const events = [event('checking for updates'), event({ any: ['json', null] })]
    for (const one of [...events, events[0]!])
      expect(await agent.oneShot('devices_PublishEvents', { events: [one] })).toEqual({})
    const stored = await owner.invoke('devices_QueryEvents', { deviceId: agent.deviceId })
    expect(stored.events.map(({ body }) => body).sort()).toEqual(events.map(({ body }) => body).sort())
  })

  it('issues JWTs that identify it to other systems', async () => {
    const { token } = await hub.fleet()
    await using agent = await publicAgent({ age, url: hub.url, token })
    const input = { validForSecs: 60, claims: null }
    const { jwt } = (await agent.oneShot('devices_IssueDeviceToken', input)) as { jwt: string }
    expect(await hub.anonymous('devices_ValidateDeviceToken', { jwt })).toEqual({
      result: 'Valid',
      deviceId: agent.deviceId,
      claims: null,
    })
  })

  it('runs many one-shot commands in a row and leaves no channel open', async () => {
    const { token } = await hub.fleet()
    await using agent = await publicAgent({ age, url: hub.url, token })
    await agent.started
    // Each command of a 2025 agent opens a WebSocket, which takes long, so 20 commands are enough. A 2026 agent has 32 channels, and
    // would run out of them if the hub kept finished channels open (docs/protocol.md R-14).
    for (let n = 0; n < (age === '2025' ? 20 : 100); n++)
      expect(await agent.oneShot('devices_SetProperty', { name: 'n', value: n })).toEqual({ result: 'Set' })
    await until('only the service is connected', () => hub.devices.sessions.length === 1)
  })

  it('gets an error for each refused action and stays connected', async () => {
    const { owner, token } = await hub.fleet()
    await using agent = await publicAgent({ age, url: hub.url, token })
    const { deviceId } = agent
    await owner.invoke('devices_SetProperty', { deviceId, name: 'kept', value: 1, protected: true })
    await expect(agent.oneShot('devices_SetProperty', { name: 'kept', value: 2 })).rejects.toMatchObject({
      kind: 'Forbidden',
    })
    await expect(agent.oneShot('devices_DoSomething', {})).rejects.toMatchObject({
      kind: 'Invalid',
      message: 'unknown action: devices_DoSomething',
    })
    expect(await agent.oneShot('devices_GetProperty', { name: 'kept' })).toMatchObject({ value: 1 })
  })

  it('serves its web application to a browser, and answers 502 for a closed port', async () => {
    const { owner, token } = await hub.fleet()
    await using agent = await publicAgent({ age, url: hub.url, token })
    const { deviceId } = agent
    const { url } = await owner.invoke('devices_IssueHttpProxyToken', { deviceId, port: portOf(web) })
    const page = await openPages(url)
    const size = 3_000_000
    expect((await page(`/?size=${size}`)).body.length).toBe(size)
    const many = await Promise.all(Array.from({ length: 40 }, () => page('/?size=20000')))
    expect(many.map(({ status, body }) => [status, body.length])).toEqual(many.map(() => [200, 20_000]))

    const closed = await owner.invoke('devices_IssueHttpProxyToken', { deviceId, port: 1 })
    const refused = await (await openPages(closed.url))('/')
    expect(refused.status).toBe(502)
    expect(refused.body).toContain('listens')
    // A 2025 agent exits when the hub opens a channel to an endpoint that the agent does not know (docs/protocol.md R-18). The
    // answer to this call shows that the agent is still running.
    expect(await agent.oneShot('devices_GetProperty', { name: 'x' })).toEqual({ result: 'NotFound' })
  })

  it('reconnects as the same device after its connection broke', async () => {
    const { owner, token } = await hub.fleet()
    const first = await publicAgent({ age, url: hub.url, token })
    const { deviceId, identity } = first
    first.drop()
    await using again = await publicAgent({ age, url: hub.url, token, identity })
    expect(again.deviceId).toBe(deviceId)
    await until('the end of the first connection is recorded', async () => {
      const { connections } = await owner.invoke('devices_QueryConnections', { deviceId })
      return connections.length === 2 && connections.filter(({ endedAt }) => endedAt).length === 1
    })
    const { isConnected } = await owner.invoke('devices_GetDetails', { deviceId })
    expect(isConnected).toBe(true)
  })

  it('gets a Close frame with a reason when the same device connects again', async () => {
    const { token } = await hub.fleet()
    await using first = await publicAgent({ age, url: hub.url, token })
    await using second = await publicAgent({ age, url: hub.url, token, identity: first.identity })
    expect(await first.ended).toEqual({
      how: 'Close',
      reason: 'replaced by a newer connection of this device',
    })
    expect(await second.oneShot('devices_GetProperty', { name: 'x' })).toEqual({ result: 'NotFound' })
  })

  it('is refused until a person accepts its certificate, then admitted', async () => {
    const { owner, projectId } = await hub.fleet()
    const { token } = await hub.token(owner, projectId, false)
    const identity = await deviceIdentity()
    const start = (): Promise<PublicAgent> => publicAgent({ age, url: hub.url, token, identity })
    await expect(start()).rejects.toMatchObject({
      status: 403,
      body: '{"kind":"Forbidden","message":"certificate is pending"}',
    })
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    const { deviceId } = devices[0]!
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
    const { certificateId } = certificates[0]!
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Active' })
    await using agent = await start()
    expect(agent.deviceId).toBe(deviceId)
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
    expect(await agent.ended).toEqual({ how: 'Close', reason: 'the certificate was revoked' })
    await expect(start()).rejects.toMatchObject({
      status: 403,
      body: '{"kind":"Forbidden","message":"certificate is revoked"}',
    })
  })

  it('is disconnected when its device is deleted, and then enrols as a new device', async () => {
    const { owner, token } = await hub.fleet()
    await using agent = await publicAgent({ age, url: hub.url, token })
    await owner.invoke('devices_Delete', { deviceId: agent.deviceId })
    expect(await agent.ended).toEqual({ how: 'Close', reason: 'this device was deleted' })
    await using again = await publicAgent({ age, url: hub.url, token, identity: agent.identity })
    expect(again.deviceId).not.toBe(agent.deviceId)
  })

  it('gets a Close frame when the hub shuts down', async () => {
    const stopping = await testHub()
    const { token } = await stopping.fleet()
    await using agent = await publicAgent({ age, url: stopping.url, token })
    await stopping[Symbol.asyncDispose]()
    expect(await agent.ended).toEqual({ how: 'Close', reason: 'the hub is shutting down' })
  })
})

describe.each<[Age, Age]>([
  ['2025', '2025'],
  ['2025', '2026'],
  ['2026', '2025'],
  ['2026', '2026'],
])('a command line of %s with an agent of %s', (age, agentAge) => {
  it('forwards a port byte for byte, and ends each direction independently', async () => {
    const { owner, token } = await hub.fleet()
    await using agent = await publicAgent({ age: agentAge, url: hub.url, token })
    await using cli = await publicCommandLine({ age, url: hub.url, userToken: await hub.userToken(owner) })
    using forward = await cli.forward(agent.deviceId, portOf(echo))
    const bytes = randomBytes(2_000_000)
    const [large, ...small] = await Promise.all([
      exchange(forward.localPort, bytes),
      ...Array.from({ length: 60 }, (_, n) => exchange(forward.localPort, Buffer.from(`hello ${n}`))),
    ])
    expect(digestOf(large!)).toBe(digestOf(bytes))
    expect(small.map(String)).toEqual(small.map((_, n) => `hello ${n}`))
    expect(forward.errors).toEqual([])
    // The two answers show that the agent and the command-line client are still connected.
    expect(await agent.oneShot('devices_GetProperty', { name: 'x' })).toEqual({ result: 'NotFound' })
    expect(await cli.invoke('actor_GetActor', {})).toMatchObject({ actor: { actor: 'UserToken' } })
  })

  it('delivers everything that a service sends before it closes', async () => {
    const speech = randomBytes(200_000)
    const speaker = createServer(socket => socket.on('error', () => {}).end(speech)).listen(0, '127.0.0.1')
    await once(speaker, 'listening')
    const { owner, token } = await hub.fleet()
    await using agent = await publicAgent({ age: agentAge, url: hub.url, token })
    await using cli = await publicCommandLine({ age, url: hub.url, userToken: await hub.userToken(owner) })
    using forward = await cli.forward(agent.deviceId, portOf(speaker))
    for (let n = 0; n < 5; n++)
      expect(digestOf(await exchange(forward.localPort, Buffer.from('go')))).toBe(digestOf(speech))
    speaker.close()
  })

  it('prints why a port cannot be reached, and stays connected', async () => {
    const { owner, token } = await hub.fleet()
    const agent = await publicAgent({ age: agentAge, url: hub.url, token })
    const { deviceId } = agent
    await using cli = await publicCommandLine({ age, url: hub.url, userToken: await hub.userToken(owner) })
    using closed = await cli.forward(deviceId, 1)
    // A 2025 agent accepts the channel before it connects to the port, so the connection ends without data.
    await exchange(closed.localPort, Buffer.from('x')).catch(() => {})
    if (agentAge === '2026') expect(closed.errors).toEqual([expect.stringContaining('unavailable')])
    await agent[Symbol.asyncDispose]()
    await until('the hub has removed the connection', () => !hub.devices.get(deviceId))
    await exchange(closed.localPort, Buffer.from('x')).catch(() => {})
    expect(closed.errors.at(-1)).toContain('device not connected')
    expect(await cli.invoke('actor_GetActor', {})).toMatchObject({ actor: { actor: 'UserToken' } })
  })
})

describe.each<Age>(['2025', '2026'])('a command line of %s', age => {
  async function signedIn() {
    const fleet = await hub.fleet()
    const agent = await publicAgent({ age, url: hub.url, token: fleet.token })
    const cli = await publicCommandLine({ age, url: hub.url, userToken: await hub.userToken(fleet.owner) })
    return {
      ...fleet,
      agent,
      cli,
      deviceId: agent.deviceId,
      [Symbol.asyncDispose]: async () => {
        await cli[Symbol.asyncDispose]()
        await agent[Symbol.asyncDispose]()
      },
    }
  }

  it('reads, sets and removes properties of a device', async () => {
    await using here = await signedIn()
    const { cli, deviceId } = here
    const name = 'dev.nexigon.ota.config'
    const value = { path: 'repo/package/stable' }
    expect(await cli.invoke('devices_SetProperty', { deviceId, name, value, protected: true })).toEqual({
      result: 'Set',
    })
    expect(await cli.invoke('devices_GetProperty', { deviceId, name })).toMatchObject({
      result: 'Found',
      name,
      value,
      protected: true,
      version: 1,
      lastUpdated: expect.any(String),
    })
    expect(await cli.invoke('devices_RemoveProperty', { deviceId, name })).toEqual({ result: 'Removed' })
    expect(await cli.invoke('devices_RemoveProperty', { deviceId, name })).toEqual({ result: 'NotFound' })
  })

  it('issues links to the web application of a device', async () => {
    await using here = await signedIn()
    const input = { deviceId: here.deviceId, port: portOf(web), validForSecs: 600 }
    const { url } = (await here.cli.invoke('devices_IssueHttpProxyToken', input)) as { url: string }
    expect((await (await openPages(url))('/?size=5')).body).toBe('xxxxx')
  })

  it('can parse the errors for forbidden and invalid calls', async () => {
    await using here = await signedIn()
    const otherTenant = await hub.fleet()
    await using theirs = await publicAgent({ age, url: hub.url, token: otherTenant.token })
    const input = { deviceId: theirs.deviceId, name: 'a' }
    await expect(here.cli.invoke('devices_GetProperty', input)).rejects.toMatchObject({ kind: 'Forbidden' })
    await expect(here.cli.invoke('devices_GetProperty', { deviceId: 7 })).rejects.toMatchObject({
      kind: 'Invalid',
    })
  })

  it('can parse the error for too many calls', async () => {
    await using here = await signedIn()
    let refusal: unknown
    const ask = async (): Promise<unknown> => {
      const email = `nobody-${randomBytes(8).toString('hex')}@test.example`
      refusal = undefined
      await here.cli.invoke('users_ResetPassword', { email }).catch((error: unknown) => {
        refusal = error
      })
      return refusal
    }
    for (let n = 0; n < 40 && !refusal; n++) await ask()
    // For up to 5 s after a client's Hello, the hub does not know whether the client understands `RateLimited`, so it sends `Internal`
    // (docs/protocol.md I1).
    expect(refusal).toMatchObject({ kind: 'Internal' })
    if (age === '2026') await expect.poll(ask, { interval: 500 }).toMatchObject({ kind: 'RateLimited' })
    expect(refusal).not.toBeInstanceOf(MalformedOutput)
  })

  it('is disconnected when its user token is deleted', async () => {
    await using here = await signedIn()
    await here.owner.invoke('users_DeleteToken', { tokenId: here.cli.actor.tokenId! })
    await here.cli.invoke('actor_GetActor', {}).catch(() => {})
    expect(await here.cli.ended).toEqual({ how: 'Close', reason: 'the user token is no longer valid' })
  })
})

describe('a command line of 2026', () => {
  it('manages projects, tokens and devices', async () => {
    const { owner, organizationId, projectId, token } = await hub.fleet()
    await using agent = await publicAgent({ age: '2026', url: hub.url, token })
    await agent.started
    await using cli = await publicCommandLine({
      age: '2026',
      url: hub.url,
      userToken: await hub.userToken(owner),
    })
    const { deviceId } = agent
    const run = (action: string, input: object): Promise<Record<string, unknown>> =>
      cli.invoke(action, input) as Promise<Record<string, unknown>>

    const made = await run('projects_Create', { organizationId, name: 'From the command line' })
    expect(await run('projects_Query', {})).toMatchObject({
      projects: expect.arrayContaining([{ projectId: made.projectId, name: 'From the command line' }]),
    })
    await run('projects_SetName', { projectId: made.projectId, name: 'Renamed' })
    expect(await run('projects_GetDetails', { projectId: made.projectId })).toMatchObject({
      name: 'Renamed',
      organizationId,
    })
    await run('projects_Delete', { projectId: made.projectId })

    expect(
      await run('projects_CreateDeploymentToken', { projectId, name: 'x', flags: { autoAccept: true } }),
    ).toMatchObject({ token: expect.stringMatching(/^deployment_/) })
    const { tokens } = (await run('projects_QueryDeploymentTokens', { projectId })) as {
      tokens: { tokenId: string; name: string }[]
    }
    const { tokenId } = tokens.find(({ name }) => name === 'x')!
    expect(await run('projects_SetDeploymentTokenFlags', { tokenId, flags: { autoAccept: false } })).toEqual(
      {},
    )
    expect(await run('projects_DeleteDeploymentToken', { tokenId })).toEqual({})

    expect(await run('projects_QueryDevices', { projectId })).toMatchObject({
      devices: [
        {
          deviceId,
          firstSeen: expect.any(String),
          status: 'healthy',
          isConnected: true,
          pendingCertificatesCount: 0,
        },
      ],
    })
    expect(await run('devices_Query', {})).toMatchObject({
      devices: [
        { deviceId, projectId, isConnected: true, currentConnectionDurationSecs: expect.any(Number) },
      ],
    })
    expect(await run('devices_SetName', { deviceId, name: 'Renamed' })).toEqual({})
    expect(await run('devices_GetDetails', { deviceId })).toMatchObject({
      name: 'Renamed',
      fingerprintId: expect.stringMatching(/^d_pk_/),
      certificates: [{ status: 'Active' }],
      connections: [{ connectedForSecs: expect.any(Number) }],
    })
    expect(await run('devices_SetName', { deviceId })).toEqual({})
    expect(await run('devices_QueryProperties', { deviceId })).toMatchObject({
      properties: { 'dev.nexigon.commands': { version: 1, protected: false } },
    })
    const fingerprint = randomFingerprint()
    const added = await run('devices_AddCertificate', { deviceId, fingerprint, status: 'Pending' })
    const { certificateId } = added
    expect(await run('devices_SetCertificateStatus', { certificateId, status: 'Rejected' })).toEqual({})
    expect(await run('devices_DeleteCertificate', { certificateId })).toEqual({})
    expect(await run('devices_QueryConnections', { deviceId, limit: 5, activeOnly: true })).toMatchObject({
      connections: [{ nodeId: expect.any(String), durationSecs: expect.any(Number) }],
    })
    expect(await run('devices_QueryEvents', { deviceId, limit: 5 })).toEqual({ events: [] })
    const { fingerprint: newFingerprint } = await deviceIdentity()
    const created = await run('devices_Create', { projectId, fingerprint: newFingerprint })
    expect(await run('devices_Delete', { deviceId: created.deviceId })).toEqual({})
  })
})

// Older names of actions are aliases of the current ones (docs/actions.md).
it('accepts the action names of agents from before October 2025', async () => {
  const { token } = await hub.fleet()
  await using agent = await publicAgent({ age: '2025', url: hub.url, token })
  expect(await agent.oneShot('devices_SetDeviceProperty', { name: 'a', value: 1 })).toEqual({ result: 'Set' })
  expect(await agent.oneShot('devices_GetDeviceProperty', { name: 'a' })).toMatchObject({ value: 1 })
  expect(await agent.oneShot('devices_PublishDeviceEvents', { events: [event('x')] })).toEqual({})
})

it('keeps no state of disconnected peers', async () => {
  await until('the last session has ended', () => hub.devices.sessions.length === 0)
  await using session = await databaseSession(hub)
  // The hub writes the ends of connections in batches, so the rows change a moment after the sessions have ended.
  await until('the ends are written', async () => {
    const connected = await session.query('select device_id from device where is_connected')
    return connected.length === 0
  })
})
