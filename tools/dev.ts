// `npm run dev`: starts a hub with its database, a simulated fleet and seeded people, and the console with hot reload. The hub
// is restarted when its sources change. Ctrl-C stops the hub and the console; the data stay in .muster-dev.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient, type Invoke } from '@muster/actions'
import { createServer } from 'vite'

const root = join(import.meta.dirname, '..')
const DATA_DIR = join(root, '.muster-dev')
const HUB_PORT = 6878
const CONSOLE_PORT = 5173
const HUB_URL = `http://localhost:${HUB_PORT}`
const SOURCES = [
  'apps/hub/src',
  'packages/actions/src',
  'packages/concurrency/src',
  'packages/csv/src',
  'packages/link/src',
  'packages/predicates/src',
]
/** Time without further changes before the hub is restarted, in milliseconds. Editors may write several files in a row. */
const SETTLE_MS = 200
/** Deadline for the hub to stop, in milliseconds. */
const STOP_TIMEOUT_MS = 20_000

const PASSWORD = 'muster development'
const PEOPLE = [
  { email: 'owner@dev.local', displayName: 'Olivia Owner', isMember: true, isOrganizationAdmin: true },
  { email: 'member@dev.local', displayName: 'Milo Member', isMember: true, isOrganizationAdmin: false },
  { email: 'guest@dev.local', displayName: 'Gwen Guest', isMember: false, isOrganizationAdmin: false },
]

let isStopping = false
let hub = await startHub()
// Without this, a failed start of the console would leave the hub running.
process.once('exit', () => hub.kill())
const admin = await seedPeople()
const vite = await createServer({
  root: join(root, 'apps/console'),
  logLevel: 'warn',
  server: { port: CONSOLE_PORT, strictPort: true, proxy: { '/api': { target: HUB_URL, ws: true } } },
})
await vite.listen()
const watchers = SOURCES.map(folder => watch(join(root, folder), { recursive: true }, onChange))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
process.stdout.write(`
Console, reloads as you save    http://localhost:${CONSOLE_PORT}
Hub, starts again as you save   ${HUB_URL}

Sign in as                      password
  ${admin.email.padEnd(29)} ${admin.password}
${PEOPLE.map(({ email }) => `  ${email.padEnd(29)} ${PASSWORD}`).join('\n')}

Stop with Ctrl-C.
`)

async function startHub(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(root, 'apps/hub/muster-hub.js'), '--demo'], {
    env: {
      ...process.env,
      MUSTER_DATA_DIR: DATA_DIR,
      MUSTER_PORT: String(HUB_PORT),
      MUSTER_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ready = Promise.withResolvers<void>()
  let output = ''
  child.stdout!.on('data', (chunk: Buffer) => {
    // Only log lines after the hub's startup banner are written to the terminal. This script prints its own text instead of the
    // banner.
    if (output.includes('Stop with')) process.stdout.write(chunk)
    else output += chunk.toString()
    if (output.includes('Stop with')) ready.resolve()
  })
  child.once('exit', code => {
    ready.resolve()
    if (!isStopping && code !== 0 && code !== null)
      process.stderr.write(`${output}\nThe hub ended with ${code}.\n`)
  })
  await ready.promise
  return child
}

async function stopHub(): Promise<void> {
  if (hub.exitCode !== null || hub.signalCode !== null) return
  const ended = once(hub, 'exit')
  hub.kill('SIGTERM')
  const timer = setTimeout(() => hub.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await ended
  clearTimeout(timer)
}

let settling: NodeJS.Timeout | undefined
let restarting = Promise.resolve()
function onChange(_event: string, file: string | null): void {
  if (!file?.match(/\.(ts|sql)$/) || /\.test(-d)?\.ts$/.test(file)) return
  clearTimeout(settling)
  settling = setTimeout(() => {
    restarting = restarting.then(async () => {
      process.stdout.write(`${file} changed, the hub starts again…\n`)
      await stopHub()
      if (!isStopping) hub = await startHub()
      process.stdout.write('The hub is ready.\n')
    })
  }, SETTLE_MS)
}

/** Creates those people of `PEOPLE` who do not exist yet. Resolves to the administrator's credentials. */
async function seedPeople(): Promise<{ email: string; password: string }> {
  const file = join(DATA_DIR, 'initial-admin.json')
  const text = await readFile(file, 'utf8').catch(cause => {
    throw new Error(`${file}: found no password of the administrator: delete ${DATA_DIR}.`, { cause })
  })
  const signIn = JSON.parse(text)
  const answer = await fetch(`${HUB_URL}/api/private/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: HUB_URL },
    body: JSON.stringify({ email: signIn.email, password: signIn.password, remember: false }),
  })
  if (!answer.ok) throw new Error(`The administrator cannot sign in (${answer.status}): delete ${DATA_DIR}.`)
  const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
  const invoke: Invoke = createClient({ baseUrl: HUB_URL, headers: { cookie, origin: HUB_URL } })
  const { organizations } = await invoke('organizations_Query', {})
  const demo = organizations.find(({ name }) => name === 'Demo')
  for (const { email, displayName, isMember, isOrganizationAdmin } of PEOPLE) {
    const created = await invoke('users_Create', { email, displayName, password: PASSWORD })
    if (created.result !== 'Created' || !isMember || !demo) continue
    const { organizationId } = demo
    await invoke('organizations_AddMember', {
      organizationId,
      userId: created.userId,
      isAdmin: isOrganizationAdmin,
    })
  }
  return signIn
}

async function stop(): Promise<void> {
  isStopping = true
  clearTimeout(settling)
  for (const watcher of watchers) watcher.close()
  await vite.close()
  await restarting
  await stopHub()
}
