import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, type TestHub, testHub, until } from '@muster/testkit'
import { hasPrograms } from '@muster/testkit/programs'
import { afterAll, afterEach, beforeAll, beforeEach, it } from 'vitest'

/** Folder of the repository. */
export const ROOT = join(import.meta.dirname, '../../../../../..')
/** Folders in which the script may leave files. The stand-in for `systemctl` writes only to `/run`, which is not among them. */
const PLACES = ['etc', 'usr', 'var/lib', 'var/tmp', 'root', 'tmp']
/** Stand-in for systemd: runs the ExecStart of the unit. */
const SYSTEMCTL = `#!/bin/sh
# The service outlives the terminal of the installation.
trap '' HUP
if [ "$1" = --version ]; then cat /run/systemd-version 2>/dev/null || echo 'systemd 252 (252.38-1~deb12u1)'; exit; fi
echo "$*" >>/run/calls
unit=/etc/systemd/system/muster-agent.service
stop() { [ ! -f /run/agent.pid ] || kill "$(cat /run/agent.pid)" 2>/dev/null; rm -f /run/agent.pid; }
case $* in
  restart* | 'enable --now'*)
    stop
    setsid $(sed -n 's/^ExecStart=//p' $unit) </dev/null >>/run/agent.log 2>&1 &
    echo $! >/run/agent.pid
    ;;
  disable*) stop ;;
esac
`

/** The hub that the agent of a test is installed from. */
export let hub: TestHub
/** Path of the scratch root of a test. */
export let root: string
/** A project of the test's own with a token. */
export let fleet: Awaited<ReturnType<TestHub['fleet']>>
const forHub = new AsyncDisposableStack()
/** Ends with the test. */
export let forRoot = new AsyncDisposableStack()

const canMount = process.getuid?.() === 0 && process.platform === 'linux' && canOverlay()
/** Declares a test in a scratch root, where this process may mount one. */
export const withRoot = it.runIf(canMount && hasPrograms('curl') && existsSync('/usr/bin/script'))

/** Starts a hub for the tests of a file, and gives each test a scratch root and a project. */
export function prepareRoots(): void {
  beforeAll(async () => {
    if (!canMount) return
    spawnSync(process.execPath, [join(ROOT, 'tools/build-console.ts')], { stdio: 'inherit' })
    hub = forHub.use(await testHub())
  })
  afterAll(() => forHub.disposeAsync())
  beforeEach(async () => {
    if (!canMount) return
    forRoot = new AsyncDisposableStack()
    root = await scratchRoot()
    fleet = await hub.fleet()
  })
  afterEach(() => forRoot.disposeAsync())
}

/** Exit code and output of a program. */
type Ran = { code: number | null; output: string }

/** Runs the script of the hub as it is piped to a shell. */
export async function script(...options: string[]): Promise<Ran> {
  return inRoot('sh', '-c', `exec sh -s -- ${options.join(' ')}`, (await ask(hub, '/install.sh')).text)
}

/** Installs with a token file, which is removed afterwards. */
export async function install(token = fleet.token, text?: string): Promise<Ran> {
  const file = join(root, 'root/token')
  await writeFile(file, token, { mode: 0o600 })
  const ran = await inRoot(
    'sh',
    '-c',
    'exec sh -s -- --token-file /root/token',
    text ?? (await ask(hub, '/install.sh')).text,
  )
  await rm(file)
  return ran
}

/** Runs a program in the scratch root, without a terminal. For `sh -c`, the last argument is the standard input. */
export async function inRoot(program: string, ...rest: string[]): Promise<Ran> {
  const input = program === 'sh' && rest[0] === '-c' ? rest.pop()! : ''
  const child = spawn('setsid', ['--wait', 'chroot', root, program, ...rest], {
    env: { PATH: process.env.PATH },
  })
  child.stdin.on('error', () => {}).end(input)
  return ended(child)
}

/** Installs at a terminal and types the token. `seen` lists processes with the token in an argument or a variable. */
export async function atTerminal(token: string): Promise<Ran & { seen: string[] }> {
  await writeFile(join(root, 'root/install.sh'), (await ask(hub, '/install.sh')).text)
  const child = spawn('script', ['-qfec', `chroot ${root} sh /root/install.sh`, '/dev/null'], {
    env: { PATH: process.env.PATH },
  })
  let [output, isTyped] = ['', false]
  child.stdout.on('data', chunk => {
    output += chunk
    if (isTyped || !output.includes('Deployment token: ')) return
    isTyped = true
    child.stdin.write(`${token}\n`)
  })
  const seen = new Set<string>()
  const watch = setInterval(() => {
    for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name)))
      for (const file of ['cmdline', 'environ'])
        if (readOrEmpty(`/proc/${pid}/${file}`).includes(token)) seen.add(readOrEmpty(`/proc/${pid}/cmdline`))
  }, 20)
  const { code } = await ended(child)
  clearInterval(watch)
  await rm(join(root, 'root/install.sh'))
  return { code, output, seen: [...seen] }
}

async function ended(child: ChildProcess): Promise<Ran> {
  let output = '\n'
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', chunk => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

/** Waits until a device of the project is connected. */
export async function connected() {
  return await until('the device is connected', async () => {
    const { devices } = await fleet.owner.invoke('projects_QueryDevices', { projectId: fleet.projectId })
    return devices.find(({ isConnected }) => isConnected)
  })
}

/**
 * A root folder with this machine's files, a stand-in for systemd, no Node and no agent. It is an overlay mount, so changes in it do not
 * change the machine's files.
 */
async function scratchRoot(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-root-'))
  const [upper, work, merged] = ['upper', 'work', 'merged'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [upper, work, merged]) await mkdir(path)
  const mount = (...args: string[]) => {
    const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
    forRoot.defer(() => void spawnSync('umount', ['-l', args.at(-1)!]))
  }
  forRoot.defer(() => rm(folder, { recursive: true, force: true }))
  mount('-t', 'overlay', 'overlay', '-o', `lowerdir=/,upperdir=${upper},workdir=${work}`, merged)
  mount('-t', 'proc', 'proc', join(merged, 'proc'))
  // Non-recursive bind mount, because other tests have small disks in `/dev/shm`, and could not remove them while they are mounted here too.
  for (const path of ['dev', 'dev/pts']) mount('--bind', `/${path}`, join(merged, path))
  mount('-t', 'tmpfs', 'tmpfs', join(merged, 'run'))
  mount('-t', 'tmpfs', 'tmpfs', join(merged, 'tmp'))
  forRoot.defer(() => void spawnSync('chroot', [merged, '/usr/bin/systemctl', 'disable']))
  for (const path of ['usr/bin/node', 'usr/local/bin/node', 'etc/nexigon', 'usr/bin/muster-agent'])
    await rm(join(merged, path), { recursive: true, force: true })
  await mkdir(join(merged, 'run/systemd/system'), { recursive: true })
  await rm(join(merged, 'usr/bin/systemctl'), { force: true })
  await writeFile(join(merged, 'usr/bin/systemctl'), SYSTEMCTL)
  await chmod(join(merged, 'usr/bin/systemctl'), 0o755)
  await writeFile(join(merged, 'etc/machine-id'), `${'4'.repeat(32)}\n`)
  return merged
}

/** Whether this process may mount an overlay. */
function canOverlay(): boolean {
  const command =
    'd=$(mktemp -d) && mkdir $d/u $d/w $d/m && mount -t overlay overlay -o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/m'
  return spawnSync('unshare', ['-m', 'sh', '-c', command], { stdio: 'ignore' }).status === 0
}

/** All files that differ from this machine's, as path and digest. */
export async function files(): Promise<string[]> {
  const upper = join(root, '../upper')
  const found = await Promise.all(
    PLACES.filter(place => existsSync(join(upper, place))).map(async place =>
      (await readdir(join(upper, place), { recursive: true, withFileTypes: true }))
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name)),
    ),
  )
  return found
    .flat()
    .map(
      path =>
        `${path.slice(upper.length + 1)} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`,
    )
    .sort()
}

/** Path of an entry of `files`. */
export const pathOf = (file: string) => file.split(' ')[0]!

/** Files of the scratch root, logs included, that contain a text. */
export function filesWith(text: string): string[] {
  const all = ['upper', 'merged/run', 'merged/tmp'].flatMap(place => {
    const { stdout } = spawnSync('grep', ['-rlF', text, join(root, '..', place)], { encoding: 'utf8' })
    return stdout.split('\n').filter(Boolean)
  })
  return all.map(path => path.replace(/^.*\/upper\//, ''))
}

/** Permissions of a file in the scratch root, in octal digits. */
export async function modeOf(path: string): Promise<string> {
  return ((await stat(join(root, path))).mode & 0o777).toString(8)
}

/** Calls of the fake `systemctl`. */
export async function calls(): Promise<string[]> {
  return readOrEmpty(join(root, 'run/calls')).split('\n').filter(Boolean)
}

/** Text of a file, empty if it cannot be read. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
