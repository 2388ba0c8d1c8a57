import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import {
  type Age,
  capturedLog,
  connectDevice,
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

async function inTurn(localPort: number): Promise<string[]> {
  const texts: string[] = []
  for (const text of ['a', 'b', 'c', 'd']) texts.push(await echoed(localPort, text))
  return texts
}

it('S27, S30: devices and command lines of three ages, and consoles, reach no limit', {
  timeout: 120_000,
}, async () => {
  const fleet = await hub.fleet()
  const { owner, token, projectId } = fleet
  const userToken = await hub.userToken(owner)
  const update = await publicUpdate(hub, fleet)
  const devices = AGES.flatMap(age =>
    Array.from({ length: 10 }, () => replayDevice({ url: hub.url, token, age, update })),
  )
  // The hub opens at most 16 channels to a device at a time, so the command lines use several devices.
  await using stack = new AsyncDisposableStack()
  const served = await Promise.all(
    [1, 2, 3, 4, 5].map(() => connectDevice({ url: hub.url, token, link: { onRequest: forwardLocally } })),
  )
  for (const device of served) stack.use(device)
  const { deviceId, identity } = served[0]!

  const ofCommandLine = async (age: Age, at: number): Promise<string[]> => {
    await using person = await publicCommandLine({ age, url: hub.url, userToken })
    await person.invoke('projects_QueryDevices', { projectId })
    const { localPort } = await person.forward(served[at % served.length]!.deviceId, echoPort)
    return inTurn(localPort)
  }
  const commandLines = AGES.flatMap(age => Array.from({ length: 20 }, (_, at) => ofCommandLine(age, at)))

  // Muster's own agent uses one registered link, and further links for its commands. Its command line is a process of its own.
  const oneShots = Array.from({ length: 16 }, async () => {
    await using command = await connectDevice({ url: hub.url, token, identity, register: false })
    await command.invoke('devices_SetProperty', { deviceId, name: 'note', value: 1 })
  })
  await using own = await muster({ MUSTER_HUB: hub.url, MUSTER_TOKEN: userToken })
  const ofOwn = async (): Promise<string[]> => {
    const forward = own.start(['forward', deviceId, `0:${echoPort}`, '--json'])
    const line = await until('it listens', () => forward.out().includes(']') && forward.out(), 60_000)
    const { localPort } = (JSON.parse(line) as { forwards: { localPort: number }[] }).forwards[0]!
    const texts = await inTurn(localPort)
    forward.child.kill()
    await forward.ended
    return texts
  }
  const tabs = await Promise.all(Array.from({ length: 12 }, () => liveStream(hub, owner)))

  await Promise.all([...devices, ...oneShots])
  for (const texts of await Promise.all([...commandLines, ofOwn()]))
    expect(texts).toEqual(['a', 'b', 'c', 'd'])
  for (const tab of tabs) {
    expect(tab.isOpen).toBe(true)
    await tab[Symbol.asyncDispose]()
  }
  expect(captured.named('a limit was hit')).toEqual([])
  expect(captured.named('connection refused')).toEqual([])
})
