import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import fastifyCookie from '@fastify/cookie'
import type { LiveChange } from '@muster/actions'
import { newId, publicIdOf } from '@muster/actions'
import { ask, connectDevice, liveStream, type TestHub, type TestUser, testHub, until } from '@muster/testkit'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { liveRoutes } from './routes-live.ts'

let hub: TestHub
let ada: TestUser
let organizationId: string
let projectId: string
let token: string

beforeAll(async () => {
  hub = await testHub()
  const fleet = await hub.fleet()
  ada = fleet.owner
  organizationId = fleet.organizationId
  projectId = fleet.projectId
  token = fleet.token
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Starts a second listener for the live stream of the same hub. It sends pings and checks sessions every `everyMs`. */
async function impatient(everyMs: number): Promise<AsyncDisposable & { url: string }> {
  const app: FastifyInstance = fastify({ forceCloseConnections: true })
  await app.register(fastifyCookie)
  const often = { pingMs: everyMs, checkMs: everyMs }
  liveRoutes(app, () => hub, { name: 'muster', isSecure: false }, often)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url, [Symbol.asyncDispose]: () => app.close() }
}

/** Opens a live stream and collects its text. */
async function textOf(url: string, { cookie, authorization }: { cookie?: string; authorization?: string }) {
  const stop = new AbortController()
  const headers = { ...(cookie && { cookie }), ...(authorization && { authorization }) }
  const response = await fetch(`${url}/api/v1/live`, { headers, signal: stop.signal })
  const stream = { text: '', hasEnded: false, status: response.status }
  const read = async (body: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) stream.text += chunk
    stream.hasEnded = true
  }
  const reading = read(response.body!).catch(() => {})
  return {
    stream,
    headers: response.headers,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await reading
    },
  }
}

function sessionIdOf({ cookie }: TestUser) {
  return publicIdOf(cookie.split('=')[1]!) as never
}

function pings(text: string): number {
  return text.split('event: ping\ndata: {}\n\n').length - 1
}

async function endSession({ cookie }: TestUser): Promise<void> {
  await ask(hub, '/api/private/logout', { method: 'POST', headers: { cookie } })
}

it('C15: notifies the device list of a health report only if the shown status changed', async () => {
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  await using live = await liveStream(hub, ada)
  const report = (
    invoke: (action: string, input: object) => Promise<unknown>,
    status: string,
    more: object = {},
  ) =>
    invoke('devices_SetProperty', { deviceId, name: 'dev.nexigon.system.health', value: { status, ...more } })
  const byDevice = device.invoke as (action: string, input: object) => Promise<unknown>
  const byPerson = ada.invoke as (action: string, input: object) => Promise<unknown>
  /** Counts the `devices` notices that `write` causes before its `properties` notice arrives. */
  const noticesOf = async (write: () => Promise<unknown>): Promise<number> => {
    await until('it is quiet', async () => {
      const before = live.changes.length
      await new Promise(done => setTimeout(done, 400))
      return live.changes.length === before
    })
    live.changes.length = 0
    await write()
    const own = (wanted: string) =>
      live.changes.filter(one => one.topic === wanted && one.deviceId === deviceId)
    await until('the property notice arrives', () => own('properties').length > 0)
    return own('devices').length
  }
  expect(await noticesOf(() => report(byDevice, 'ok'))).toBe(1)
  for (let at = 0; at < 3; at++) expect(await noticesOf(() => report(byDevice, 'ok', { at }))).toBe(0)
  expect(await noticesOf(() => report(byDevice, 'degraded'))).toBe(1)
  expect(await noticesOf(() => report(byPerson, 'error'))).toBe(1)
  // A person set the status to `error`. The device's next report replaces it, although the device reports the same as before.
  expect(await noticesOf(() => report(byDevice, 'degraded'))).toBe(1)
})

describe('the live stream', () => {
  it('is a server-sent event stream that is neither cached nor buffered', async () => {
    await using live = await textOf(hub.url, ada)
    expect(live.stream.status).toBe(200)
    expect(live.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(live.headers.get('cache-control')).toBe('no-store')
    expect(live.headers.get('x-accel-buffering')).toBe('no')
    await until('the first ping', () => live.stream.text === 'event: ping\ndata: {}\n\n')
  })

  it('needs a session or a user token', async () => {
    for (const headers of [{}, { cookie: 'muster=x' }, { authorization: `Bearer ${newId('u_sk')}` }]) {
      const answer = await ask(hub, '/api/v1/live', { headers: headers as never })
      expect(answer.status).toBe(401)
      expect(answer.json()).toMatchObject({ kind: 'Forbidden', message: 'Not logged in' })
    }
    const stop = new AbortController()
    const authorization = `Bearer ${await hub.userToken(ada)}`
    const { status } = await fetch(`${hub.url}/api/v1/live`, {
      headers: { authorization },
      signal: stop.signal,
    })
    expect(status).toBe(200)
    stop.abort()
  })

  it('is not opened by HEAD', async () => {
    const answer = await ask(hub, '/api/v1/live', { method: 'HEAD', headers: { cookie: ada.cookie } })
    expect(answer.status).toBe(404)
  })

  it('reports within a second that a device connects or disconnects', async () => {
    await using console = await liveStream(hub, ada)
    const tookMs: { connect: number; disconnect: number }[] = []
    // The fastest of three counts, because a pause of the machine can only slow a report down.
    for (let n = 0; n < 3; n++) {
      console.changes.length = 0
      const device = await connectDevice({ url: hub.url, token })
      const reportedWithin = async (what: string): Promise<number> => {
        const from = performance.now()
        await until(what, () => {
          const topics = console.changes
            .filter(change => change.deviceId === device.deviceId)
            .map(change => change.topic)
          return topics.includes('devices') && topics.includes('connections')
        })
        return performance.now() - from
      }
      const connect = await reportedWithin('the report of the new device')
      expect(console.changes[0]).toMatchObject({ organizationId, projectId })
      await until('a quiet moment', async () => {
        const { devices } = await ada.invoke('projects_QueryDevices', { projectId })
        return devices.some(one => one.deviceId === device.deviceId && one.isConnected)
      })
      console.changes.length = 0
      await device[Symbol.asyncDispose]()
      tookMs.push({ connect, disconnect: await reportedWithin('the report of its disconnection') })
    }
    expect(Math.min(...tookMs.map(({ connect }) => connect))).toBeLessThan(1_000)
    expect(Math.min(...tookMs.map(({ disconnect }) => disconnect))).toBeLessThan(1_000)
  })

  it('reports no changes of other organizations', async () => {
    const grace = await hub.user()
    const other = await hub.organization(grace)
    await using hers = await liveStream(hub, grace)
    await using his = await liveStream(hub, ada)
    const mine = await hub.project(ada, organizationId)
    const strange = await hub.project(grace, other)
    await until('each has a notice', () => hers.changes.length > 0 && his.changes.length > 0)
    const ids = (changes: LiveChange[]) => new Set(changes.map(change => change.projectId))
    expect(ids(hers.changes)).toEqual(new Set([strange]))
    expect(ids(his.changes)).toEqual(new Set([mine]))
  })

  it('reports no changes of other organizations to instance administrators either', async () => {
    const admin = await hub.user({ isAdmin: true })
    const own = await hub.organization(admin)
    await using console = await liveStream(hub, admin)
    await hub.project(ada, organizationId)
    await hub.project(admin, own)
    await until('it has a notice', () => console.changes.length > 0)
    expect(new Set(console.changes.map(change => change.organizationId))).toEqual(new Set([own]))
  })

  it('sends pings repeatedly', async () => {
    await using listener = await impatient(20)
    await using live = await textOf(listener.url, ada)
    await until('some pings', () => pings(live.stream.text) > 3)
    expect(live.stream.hasEnded).toBe(false)
  })

  it('ends when the session ends', async () => {
    const user = await hub.user()
    await using listener = await impatient(20)
    await using live = await textOf(listener.url, user)
    await until('a ping', () => pings(live.stream.text) > 1)
    await endSession(user)
    await until('the end', () => live.stream.hasEnded, 5_000)
    expect(hub.live.subscriberCount).toBe(0)
  })

  it.each<[what: string, end: (user: TestUser) => Promise<unknown>]>([
    [
      'the session is terminated',
      user => user.invoke('users_TerminateSession', { sessionId: sessionIdOf(user) }),
    ],
    [
      'an administrator sets the password',
      async ({ userId }) => {
        const admin = await hub.user({ isAdmin: true })
        return admin.invoke('users_SetPassword', { userId, password: 'another horse battery' })
      },
    ],
    [
      'the account is deleted',
      async ({ userId }) => (await hub.user({ isAdmin: true })).invoke('users_Delete', { userId }),
    ],
    [
      'the session expires',
      user =>
        hub.db
          .updateTable('session')
          .set({ expires_at: new Date() })
          .where('session_id', '=', sessionIdOf(user))
          .execute(),
    ],
  ])('ends within seconds when %s, even on another node', async (_what, end) => {
    const user = await hub.user()
    await using live = await textOf(hub.url, user)
    await until('a ping', () => pings(live.stream.text) === 1)
    await end(user)
    await until('the end', () => live.stream.hasEnded, 5_000)
  })

  it('ends when its user token is revoked, but other streams continue', async () => {
    const user = await hub.user()
    const token = await hub.userToken(user)
    await using listener = await impatient(20)
    await using other = await textOf(listener.url, user)
    await using live = await textOf(listener.url, { authorization: `Bearer ${token}` })
    await until('a ping', () => pings(live.stream.text) > 1)
    await user.invoke('users_DeleteToken', { tokenId: publicIdOf(token) as never })
    await until('the end', () => live.stream.hasEnded, 5_000)
    const seen = pings(other.stream.text)
    await until('the other continues', () => pings(other.stream.text) > seen + 3)
    expect(other.stream.hasEnded).toBe(false)
  })

  it('checks the sessions of all streams together', async () => {
    await using listener = await impatient(20)
    await using streams = new AsyncDisposableStack()
    const lives = []
    for (let count = 0; count < 10; count++)
      lives.push(streams.use(await textOf(listener.url, await hub.user())))
    const { stream } = lives[0]!
    let statements = 0
    const countOne = (): void => void statements++
    hub.pool.on('acquire', countOne)
    const before = pings(stream.text)
    await until('some time passes', () => pings(stream.text) > before + 20)
    const looks = pings(stream.text) - before
    hub.pool.off('acquire', countOne)
    // One check of all ten streams takes two statements. Ten separate checks would take twenty statements.
    expect(statements).toBeGreaterThan(0)
    expect(statements).toBeLessThan(5 * looks)
  })

  it('stops reporting an organization as soon as the person is removed from it', async () => {
    const user = await hub.user()
    const shared = await hub.organization(ada, [user])
    await using console = await liveStream(hub, user)
    await hub.project(ada, shared)
    await until('it reports the project', () => console.changes.some(({ topic }) => topic === 'projects'))
    await ada.invoke('organizations_RemoveMember', { organizationId: shared, userId: user.userId as never })
    await until('it reports the removal', () =>
      console.changes.some(({ topic }) => topic === 'organizations'),
    )
    await until('it has read the memberships again', async () => {
      console.changes.length = 0
      await hub.project(ada, shared)
      const own = await hub.organization(user)
      await until('it reports their own organization', () =>
        console.changes.some(({ organizationId }) => organizationId === own),
      )
      return console.changes.every(({ organizationId }) => organizationId !== shared)
    })
  })

  it('ends when the account is deactivated', async () => {
    const user = await hub.user()
    await using listener = await impatient(20)
    await using live = await textOf(listener.url, user)
    await until('a ping', () => pings(live.stream.text) > 1)
    await hub.db.updateTable('user').set({ is_active: false }).where('user_id', '=', user.userId).execute()
    await until('the end', () => live.stream.hasEnded, 5_000)
  })

  it('stops reporting an organization that the person left, and reports one that they joined', async () => {
    const user = await hub.user()
    const [left, joined] = [await hub.organization(ada, [user]), await hub.organization(ada)]
    await using listener = await impatient(20)
    await using console = await liveStream(listener, user)
    const isReported = (id: string): boolean => console.changes.some(change => change.organizationId === id)
    await until('it reports the first', async () => {
      await hub.project(ada, left)
      return isReported(left)
    })
    await hub.db
      .updateTable('organization_member')
      .set({ organization_id: joined })
      .where('organization_id', '=', left)
      .where('user_id', '=', user.userId)
      .execute()
    await until('it reports the second', async () => {
      await hub.project(ada, joined)
      return isReported(joined)
    })
    console.changes.length = 0
    await hub.project(ada, left)
    await until('it reports the second again', async () => {
      await hub.project(ada, joined)
      return isReported(joined)
    })
    expect(isReported(left)).toBe(false)
  })
})

describe('a client of the live stream', () => {
  /** Requests the stream over a raw socket. */
  async function opened(): Promise<Socket> {
    const socket = connect(hub.address.port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(`GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\nCookie: ${ada.cookie}\r\n\r\n`)
    return socket
  }

  it('that does not read is disconnected and does not affect others', async () => {
    await using other = await liveStream(hub, ada)
    const socket = await opened()
    socket.pause()
    await until('it is subscribed', () => hub.live.subscriberCount === 2)
    await until(
      'it is disconnected',
      () => {
        // Long ids fill the socket buffers soon. Each poll sends the ids of the previous poll again. Notices with equal ids are
        // merged, so the notices stay short enough for the client that still reads.
        for (let index = 0; index < 100; index++)
          hub.live.changed({ topic: 'events', organizationId, projectId: `${'p'.repeat(2_000)}${index}` })
        return hub.live.subscriberCount === 1
      },
      25_000,
    )
    socket.destroy()
    other.changes.length = 0
    await hub.project(ada, organizationId)
    await until('the other still gets notices', () =>
      other.changes.some(change => change.topic === 'projects'),
    )
  })

  it('that disconnects at any moment leaves no subscription behind', async () => {
    for (let count = 0; count < 30; count++) {
      const socket = await opened()
      // Every third client disconnects immediately, every third while the hub checks its session, and every third after the stream has
      // begun.
      if (count % 3 === 1) await new Promise(setImmediate)
      if (count % 3 === 2) await once(socket, 'data')
      socket.destroy()
    }
    await until('no subscription is left', async () => {
      // Another round trip gives the requests in flight time to end.
      await ada.invoke('actor_GetActor', {})
      return hub.live.subscriberCount === 0
    })
    await ada.invoke('projects_Query', {})
    expect(hub.live.subscriberCount).toBe(0)
  })
})

it('ends its streams when the hub stops', async () => {
  const stopping = await testHub()
  const user = await stopping.user()
  await using live = await textOf(stopping.url, user)
  await until('the first ping', () => pings(live.stream.text) === 1)
  await stopping[Symbol.asyncDispose]()
  expect(stopping.live.subscriberCount).toBe(0)
})
