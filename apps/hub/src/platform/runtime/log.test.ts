import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { actions, newId } from '@muster/actions'
import {
  ask,
  capturedLog,
  connectDevice,
  signIn,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

const captured = capturedLog('trace')

let hub: TestHub
let ada: TestUser

beforeAll(async () => {
  hub = await testHub({}, captured.log)
  ada = await hub.user()
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Sends raw text and waits until the connection closes. */
async function raw(request: string): Promise<void> {
  const socket = connect(hub.address.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  socket.write(request)
  await once(socket, 'close')
}

it('logs route, status and caller of each request, never its URL', async () => {
  const planted = 'planted-in-an-address'
  await ask(hub, `/api/v1/actions/invoke/projects_Query?x=${planted}`, { as: ada, body: {} })
  await ask(hub, `/api/v1/actions/invoke/${planted}?x=${planted}`, { as: ada, body: {} })
  await ask(hub, `/signup/verify?jwt=${planted}`)
  await until('all three are logged', () => captured.named('request').length >= 3)
  const invoked = captured.named('request').filter(({ route }) => route === '/api/v1/actions/invoke/:name')
  expect(invoked[0]).toEqual({
    level: 'debug',
    time: expect.any(String),
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    method: 'POST',
    route: '/api/v1/actions/invoke/:name',
    actorId: ada.userId,
    action: 'projects_Query',
    status: 200,
    durationMs: expect.any(Number),
    msg: 'request',
  })
  expect(invoked[1]).toMatchObject({ actorId: ada.userId, status: 404 })
  expect(invoked[1]).not.toHaveProperty('action')
  expect(JSON.stringify(captured.lines)).not.toContain(planted)
})

it('logs no error when a client disconnects in the middle of a request', async () => {
  const from = captured.lines.length
  const socket = connect(hub.address.port, '127.0.0.1')
  socket.write(
    'POST /api/v1/actions/invoke/actor_GetActor HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  )
  await once(socket, 'connect')
  await setTimeout(200)
  socket.destroy()
  await setTimeout(500)
  expect(captured.lines.slice(from).filter(({ level }) => level === 'error')).toEqual([])
})

// The timeout is long, because 200 requests take long on a busy machine.
it('logs no secret of successful and failed requests', { timeout: 120_000 }, async () => {
  const { owner, projectId, token } = await hub.fleet()
  const userToken = await hub.userToken(ada)
  const planted = [
    newId('u_sk'),
    newId('deployment'),
    newId('u_session_sk'),
    'hunter2-hunter2',
    'eyJhbGciOi.J9.x',
  ]
  const secrets = [
    ...planted,
    userToken,
    token,
    ada.password,
    ada.cookie.split('=')[1]!,
    owner.cookie.split('=')[1]!,
  ]
  const fields = [
    'password',
    'currentPassword',
    'newPassword',
    'token',
    'activationToken',
    'resetToken',
    'secret',
  ]
  const [badToken, badDeploymentToken, badSession, badPassword, badJwt] = planted as [
    string,
    string,
    string,
    string,
    string,
  ]

  const body = Object.fromEntries(fields.map(name => [name, badPassword]))
  for (const name of Object.keys(actions)) {
    await ask(hub, `/api/v1/actions/invoke/${name}?jwt=${badJwt}`, {
      as: ada,
      body: { ...body, jwt: badJwt },
    })
  }
  for (const path of [
    '/api/v1/actions/invoke/actor_GetActor',
    '/api/v1/live',
    '/api/private/login',
    '/api/private/logout',
  ]) {
    for (const [header, secret] of [
      ['authorization', `Bearer ${badToken}`],
      ['authorization', badPassword],
      ['cookie', `muster=${badSession}`],
      ['x-deployment-token', badDeploymentToken],
      ['x-user-token', badToken],
    ] as const) {
      await ask(hub, `${path}?token=${badToken}`, {
        body: `{"password":"${badPassword}`,
        headers: { [header]: secret },
      })
      await ask(hub, `${path}/${badToken}`, {
        headers: { [header]: secret, referer: `${hub.url}/?jwt=${badJwt}` },
      })
    }
  }
  await signIn(hub, ada.email, badPassword)
  await signIn(hub, badPassword, ada.password)
  for (const page of ['/signup/verify', '/set-password', '/%', '/nowhere'])
    await ask(hub, `${page}?jwt=${badJwt}`)
  await raw(
    `GET /?jwt=${badJwt} HTTP/1.1\r\nHost: localhost\r\nX: ${badPassword} ${'x'.repeat(20_000)}\r\n\r\n`,
  )
  await raw(`${badJwt} ${badPassword}\r\n\r\n`)

  await using device = await connectDevice({ url: hub.url, token })
  await device.invoke('devices_SetProperty', { deviceId: device.deviceId, name: 'x', value: badPassword })
  await device.invoke(badJwt, { password: badPassword }).catch(() => {})
  for (const headers of [
    { authorization: `Bearer ${badToken}` },
    { authorization: `Bearer ${badDeploymentToken}`, 'x-deployment-token': undefined },
    { authorization: `Basic ${badPassword}`, 'x-user-token': badToken },
    { 'x-deployment-token': badDeploymentToken },
    { 'x-client-cert': badPassword },
    { 'x-device-fingerprint': badPassword },
  ])
    await connectDevice({ url: `${hub.url}`, token, headers }).catch(() => {})
  await raw(
    `GET /elsewhere?token=${badToken} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: ${badPassword}\r\n\r\n`,
  )

  // Unexpected errors are logged in full. Closing the database causes unexpected errors, so it is the last step.
  await hub.db.destroy()
  await ask(hub, `/api/v1/actions/invoke/projects_SetName?jwt=${badJwt}`, {
    as: owner,
    body: { projectId, name: badPassword },
  })
  await signIn(hub, ada.email, ada.password)
  expect(captured.named('request failed').length).toBeGreaterThan(0)
  expect(captured.named('connection refused').length).toBeGreaterThan(5)
  const text = JSON.stringify(captured.lines)
  for (const secret of secrets) expect(text).not.toContain(secret)
})

it('redacts fields with the name of a secret', () => {
  const { log, lines } = capturedLog('info')
  log.info({
    password: 'a-planted-one',
    user: { token: 'a-planted-one' },
    req: { headers: { cookie: 'a-planted-one' } },
  })
  const line = JSON.stringify(lines)
  expect(line).not.toContain('a-planted-one')
  expect(line.match(/\[redacted\]/g)).toHaveLength(3)
})
