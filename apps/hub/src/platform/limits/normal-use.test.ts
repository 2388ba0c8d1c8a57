import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import {
  type Age,
  capturedLog,
  connectDevice,
  connectPerson,
  forwardLocally,
  liveStream,
  muster,
  publicCommandLine,
  publicUpdate,
  replayDevice,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, expect, it } from 'vitest'

// The calls of published clients of 2025 and 2026 and of Muster's own clients must reach no limit at its default, also when many of them
// share one address, one person and one token, and when the hub has as few file descriptors as a shell allows by default.

const AGES: Age[] = ['2025', '2026']
const captured = capturedLog()
const hub = await testHub({ countsLoopback: true, maxDescriptors: 1_024 }, captured.log)
const echo = createServer({ allowHalfOpen: true }, socket => socket.on('error', () => {}).pipe(socket))
await once(echo.listen(0, '127.0.0.1'), 'listening')
const { port: echoPort } = echo.address() as AddressInfo
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  echo.close()
})

/** Sends a text through the local port of a forward, and resolves to what comes back. */
async function echoed(localPort: number, text: string): Promise<string> {
  const socket = connect({ port: localPort, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(text)
  return String(await buffer(socket))
}

/** Sends four texts in turn, each over a connection of its own. Resolves to what comes back. */
async function inTurn(localPort: number): Promise<string> {
  let texts = ''
  for (const text of ['a', 'b', 'c', 'd']) texts += await echoed(localPort, text)
  return texts
}

/** Expects that the hub has reported no limit and refused no link so far. */
function expectNoRefusals(): void {
  expect(captured.named('a limit was hit')).toEqual([])
  expect(captured.named('connection refused')).toEqual([])
}

it('S27, S30: twenty devices of two ages that update at once reach no limit', {
  timeout: 60_000,
}, async () => {
  const fleet = await hub.fleet()
  const update = await publicUpdate(hub, fleet)
  const replays = AGES.flatMap(age =>
    Array.from({ length: 10 }, () => replayDevice({ url: hub.url, token: fleet.token, age, update })),
  )
  expect(await Promise.all(replays)).toHaveLength(20)
  expectNoRefusals()
})

it.each(AGES)(
  'S27: twenty command lines of %s with forwards reach no limit',
  { timeout: 60_000 },
  async age => {
    const { owner, token, projectId } = await hub.fleet()
    const userToken = await hub.userToken(owner)
    await using stack = new AsyncDisposableStack()
    // The hub opens at most 16 channels to a device at a time, so the command lines use several devices.
    const devices = [stack.use(await served(token)), stack.use(await served(token))]
    const texts = Array.from({ length: 20 }, async (_, at) => {
      await using person = await publicCommandLine({ age, url: hub.url, userToken })
      await person.invoke('projects_QueryDevices', { projectId })
      using forward = await person.forward(devices[at % devices.length]!.deviceId, echoPort)
      const text = await inTurn(forward.localPort)
      expect(forward.errors).toEqual([])
      return text
    })
    expect(await Promise.all(texts)).toEqual(Array(20).fill('abcd'))
    expectNoRefusals()
  },
)

it('S27, S30: an agent, command lines and consoles of this age reach no limit', {
  timeout: 60_000,
}, async () => {
  const { owner, token } = await hub.fleet()
  const userToken = await hub.userToken(owner)
  const tabs = await Promise.all(Array.from({ length: 12 }, () => liveStream(hub, owner)))
  await using device = await served(token)
  const { deviceId, identity } = device
  const links = await Promise.all(Array.from({ length: 40 }, () => connectPerson(hub.url, userToken)))
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      await using command = await connectDevice({ url: hub.url, token, identity, register: false })
      await command.invoke('devices_SetProperty', { deviceId, name: 'note', value: 1 })
    }),
  )
  await using own = await muster({ MUSTER_HUB: hub.url, MUSTER_TOKEN: userToken })
  const forward = own.start(['forward', deviceId, `0:${echoPort}`, '--json'])
  const line = await until('it listens', () => forward.out().includes(']') && forward.out())
  const { forwards } = JSON.parse(line) as { forwards: { localPort: number }[] }
  expect(await inTurn(forwards[0]!.localPort)).toBe('abcd')
  forward.child.kill('SIGINT')
  await forward.ended
  for (const link of links) await link[Symbol.asyncDispose]()
  for (const tab of tabs) {
    expect(tab.isOpen).toBe(true)
    await tab[Symbol.asyncDispose]()
  }
  expectNoRefusals()
})

/** Connects a device that forwards to services of this machine. */
function served(token: string): ReturnType<typeof connectDevice> {
  return connectDevice({ url: hub.url, token, link: { onRequest: forwardLocally } })
}
