import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@muster/actions'
import type { Invoke } from '@muster/actions/client'
import { openLink } from '../apps/cli/src/hub-link.ts'
import { startEmbeddedDatabase } from '../apps/hub/src/platform/database/server/embedded.ts'
import { createLog } from '../apps/hub/src/platform/runtime/log.ts'
import { freePort } from '../testkit/src/free-port.ts'
import { bannerOf, signIn } from './hub-process.ts'
import { reportGoal } from './yardsticks.ts'

const ROUNDS = 5
const FORWARDS = 10
/** Time from the start of both links to the first forward, in milliseconds. */
const FIRST_AFTER_MS = 100
const MAX_END_MS = 100
const CONNECT_TIMEOUT_MS = 60_000

/**
 * Measures the end of data with our agent and our command line (finding I6): the time from the end of a request to the end of its answer, of the
 * tenth forward on links that are a moment old. On one node, and with agent and command line on two nodes.
 */
export async function ends(): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'muster-ends-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const nodes = await startNodes(folder, stack)
  const echo = createServer({ allowHalfOpen: true }, socket => socket.on('error', () => {}).pipe(socket))
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  stack.defer(() => void echo.close())
  const { port } = echo.address() as AddressInfo
  const [url] = nodes.urls as [string]
  const cookie = await signIn({ url, signIn: nodes.signIn })
  const invoke = createClient({ baseUrl: url, headers: { cookie, origin: url } })
  const { actor } = await invoke('actor_GetActor', {})
  if (actor.actor !== 'User') throw new Error('not signed in')
  const { token } = await invoke('users_CreateToken', { userId: actor.userId })
  for (const [what, at] of [
    ['on one node', nodes.urls[0]!],
    ['over two nodes', nodes.urls[1]!],
  ] as const) {
    const firsts: number[] = []
    const tenths: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const name = `device-${nodes.urls.indexOf(at)}-${round}`
      const before = new Set(await devicesOf(invoke))
      const agent = spawn(
        process.execPath,
        [
          'apps/agent/muster-agent.js',
          'run',
          '--hub',
          url,
          '--token',
          nodes.token,
          '--data',
          join(folder, name),
        ],
        { cwd: join(import.meta.dirname, '..'), stdio: 'ignore' },
      )
      const stop = new AbortController()
      try {
        const deviceId = await newDevice(invoke, before)
        const link = await openLink({ hubUrl: at, token }, stop.signal)
        await pause(FIRST_AFTER_MS)
        const times: number[] = []
        for (let n = 0; n < FORWARDS; n++) {
          const channel = await link.open(`device/${deviceId}/proxy/forward/tcp/${port}`)
          await channel.write(Buffer.from('a request'))
          const begin = performance.now()
          channel.end()
          for await (const _piece of channel);
          times.push(performance.now() - begin)
        }
        firsts.push(times[0]!)
        tenths.push(times.at(-1)!)
        link.close()
      } finally {
        agent.kill('SIGKILL')
        await once(agent, 'exit')
      }
    }
    const worst = Math.max(...tenths)
    reportGoal(
      'I6',
      `tenth end of data, ${what}`,
      `${worst.toFixed(1)} ms, the first ${Math.max(...firsts).toFixed(1)} ms`,
      `at most ${MAX_END_MS} ms`,
      worst <= MAX_END_MS,
    )
  }
}

type Nodes = { urls: string[]; token: string; signIn: { email: string; password: string } }

/** Ids of the connected devices. */
async function devicesOf(invoke: Invoke): Promise<string[]> {
  const { projects } = await invoke('projects_Query', {})
  const lists = await Promise.all(
    projects.map(({ projectId }) => invoke('projects_QueryDevices', { projectId, limit: 100 })),
  )
  return lists.flatMap(({ devices }) => devices.filter(each => each.isConnected).map(each => each.deviceId))
}

/** Waits for a connected device that is not in `before`. */
async function newDevice(invoke: Invoke, before: ReadonlySet<string>): Promise<string> {
  const deadline = performance.now() + CONNECT_TIMEOUT_MS
  for (;;) {
    const found = (await devicesOf(invoke)).find(deviceId => !before.has(deviceId))
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error('the agent did not connect')
    await pause(50)
  }
}

/** Starts two nodes on one database. */
async function startNodes(folder: string, stack: AsyncDisposableStack): Promise<Nodes> {
  const base = join(folder, 'database')
  const files = join(folder, 'files')
  await mkdir(base, { mode: 0o755 })
  await mkdir(files)
  const { access } = stack.use(await startEmbeddedDatabase(base, createLog('error')))
  const { host, user, password, database } = access.owner as Record<string, string>
  const urls: string[] = []
  for (const name of ['one', 'two']) {
    const dataDir = join(folder, `hub-${name}`)
    await mkdir(dataDir)
    await symlink(files, join(dataDir, 'blobs'))
    if (name === 'two') await symlink(join(folder, 'hub-one/instance-key'), join(dataDir, 'instance-key'))
    const port = await freePort()
    const hub = spawn(process.execPath, [join(import.meta.dirname, '../apps/hub/muster-hub.js')], {
      env: {
        ...process.env,
        MUSTER_DATABASE_URL: `postgresql://${user}:${password}@${encodeURIComponent(host!)}/${database}`,
        MUSTER_DATA_DIR: dataDir,
        MUSTER_NODE_NAME: name,
        MUSTER_PORT: String(port),
        MUSTER_NODE_PORT: String(await freePort()),
        MUSTER_LOG_LEVEL: 'warn',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    process.once('exit', () => hub.kill('SIGKILL'))
    stack.defer(async () => {
      const ended = once(hub, 'exit')
      hub.kill('SIGTERM')
      await ended
    })
    await bannerOf(hub)
    urls.push(`http://127.0.0.1:${port}`)
  }
  const first = await readFile(join(folder, 'hub-one/initial-admin.json'), 'utf8')
  const { deploymentToken: token, ...signIn } = JSON.parse(first) as Nodes['signIn'] & {
    deploymentToken: string
  }
  return { urls, token, signIn }
}
