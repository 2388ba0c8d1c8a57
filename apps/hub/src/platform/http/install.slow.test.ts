import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ConnectProxy } from '@muster/link/testing'
import { ask, type TestHub, testHub, until } from '@muster/testkit'
import { hasPrograms } from '@muster/testkit/programs'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { packApp } from '../../../../../tools/pack-app.ts'

const ROOT = join(import.meta.dirname, '../../../../..')
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
const PUBLIC_CONFIG = 'hub-url = "https://other.example"\ntoken = "deployment_of_another_hub"\n'

let hub: TestHub
let root: string
let fleet: Awaited<ReturnType<TestHub['fleet']>>
const forHub = new AsyncDisposableStack()
let forRoot = new AsyncDisposableStack()

const canMount = process.getuid?.() === 0 && process.platform === 'linux' && canOverlay()
const withRoot = it.runIf(canMount && hasPrograms('curl') && existsSync('/usr/bin/script'))

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

withRoot(
  'installs from a prompt within a minute, runs again, and is removed without a trace',
  { timeout: 240_000 },
  async () => {
    const before = await files()
    const startedAt = performance.now()
    const terminal = await atTerminal(fleet.token)
    expect(terminal.output).not.toContain(fleet.token)
    expect(terminal.output).toContain(`for http://localhost:${hub.address.port}`)
    expect(terminal.code).toBe(0)
    const device = await connected()
    expect(performance.now() - startedAt).toBeLessThan(60_000)
    expect(terminal.seen).toEqual([])
    expect(filesWith(fleet.token)).toEqual(['etc/nexigon/agent.toml'])
    expect(await modeOf('etc/nexigon/agent.toml')).toBe('600')
    expect(await modeOf('usr/bin/muster-agent')).toBe('755')
    expect(await modeOf('etc/nexigon/agent/ssl')).toBe('700')
    expect((await files()).filter(file => !before.includes(file)).map(pathOf)).toEqual([
      'etc/nexigon/agent.toml',
      'etc/nexigon/agent/ssl/cert.pem',
      'etc/nexigon/agent/ssl/key.pem',
      'etc/systemd/system/muster-agent.service',
      'usr/bin/muster-agent',
      'usr/lib/muster-agent/agent.mjs',
      'usr/lib/muster-agent/fingerprint',
      'usr/lib/muster-agent/install.sh',
      'usr/lib/muster-agent/node',
      'var/lib/muster-agent/files',
      'var/lib/muster-agent/salt',
      'var/lib/muster-agent/source',
    ])

    const installed = await files()
    const again = await script()
    expect(again.code).toBe(0)
    expect(again.output).toContain('Keeps /etc/nexigon/agent.toml')
    expect(again.output).not.toContain('Downloads Node')
    expect(await files()).toEqual(installed)

    // The installation left a copy of the script on the device, which works without the hub.
    const removed = await inRoot('sh', '/usr/lib/muster-agent/install.sh', '--uninstall')
    expect(removed.code).toBe(0)
    const identity = [
      'etc/nexigon/agent/ssl/cert.pem',
      'etc/nexigon/agent/ssl/key.pem',
      'var/lib/muster-agent/salt',
      'var/lib/muster-agent/source',
    ]
    expect((await files()).filter(file => !before.includes(file)).map(pathOf)).toEqual([
      ...identity.slice(0, 2),
      'var/lib/muster-agent/files',
      ...identity.slice(2),
    ])
    expect(await calls()).toContain('disable --now muster-agent.service')

    // With the same identity, the hub recognizes the same device.
    await writeFile(join(root, 'root/token'), `${fleet.token}\n`, { mode: 0o600 })
    expect((await script('--token-file', '/root/token')).code).toBe(0)
    await rm(join(root, 'root/token'))
    expect((await connected()).deviceId).toBe(device.deviceId)
    expect((await script('--uninstall', '--purge')).code).toBe(0)
    expect(await files()).toEqual(before)
    expect(existsSync(join(root, 'etc/nexigon'))).toBe(false)
    expect(existsSync(join(root, 'usr/lib/muster-agent'))).toBe(false)
    expect(existsSync(join(root, 'var/lib/muster-agent'))).toBe(false)
  },
)

withRoot(
  'D7: installs through a proxy, which the agent then uses, or changes nothing and names the proxy',
  { timeout: 120_000 },
  async () => {
    const before = await files()
    await using proxy = await ConnectProxy.start()
    await writeFile(join(root, 'root/token'), `${fleet.token}\n`, { mode: 0o600 })
    const options = ['--token-file', '/root/token', '--proxy-url', proxy.url]
    const refused = await script(...options)
    expect(refused.code).toBe(1)
    const origin = new URL(proxy.url).host
    expect(refused.output).toContain(`/install/manifest through the proxy ${origin}. Nothing was changed.`)
    const odd = await script('--token-file', '/root/token', '--proxy-url', `'http://a:"x"@proxy'`)
    expect(odd.output).toContain('Found another text as the proxy')
    const target = `localhost:${hub.address.port}`
    proxy.ports.set(target, hub.address.port)
    proxy.targets.length = 0
    expect(await script(...options)).toMatchObject({ code: 0 })
    await rm(join(root, 'root/token'))
    await connected()
    expect(new Set(proxy.targets)).toEqual(new Set([target]))
    const config = await readFile(join(root, 'etc/nexigon/agent.toml'), 'utf8')
    expect(config).toContain(`proxy-url = "${proxy.url}"`)
    expect((await script('--uninstall', '--purge')).code).toBe(0)
    expect(await files()).toEqual(before)
  },
)

withRoot(
  'writes the unit of the package, and a plain one for a systemd that loses its messages',
  async () => {
    const unit = 'etc/systemd/system/muster-agent.service'
    expect((await install()).code).toBe(0)
    const example = readFileSync(join(ROOT, 'apps/agent/examples/muster-agent.service'), 'utf8')
    expect(await readFile(join(root, unit), 'utf8')).toBe(example)
    const verify = () => inRoot('systemd-analyze', 'verify', '--recursive-errors=no', `/${unit}`)
    expect(await verify()).toEqual({ code: 0, output: '\n' })

    await writeFile(join(root, 'run/systemd-version'), 'systemd 245 (245.4-4ubuntu3)\n')
    expect((await script()).code).toBe(0)
    expect((await readFile(join(root, unit), 'utf8')).split('\n')).toEqual([
      '[Unit]',
      'Description=Connects this device to its hub',
      'Wants=network-online.target',
      'After=network-online.target',
      'ConditionPathExists=/etc/nexigon/agent.toml',
      '',
      '[Service]',
      'ExecStart=/usr/bin/muster-agent run --config /etc/nexigon/agent.toml',
      'Restart=always',
      'RestartSec=10s',
      '',
      '',
      '[Install]',
      'WantedBy=multi-user.target',
      '',
    ])
    expect(await verify()).toEqual({ code: 0, output: '\n' })
  },
)

withRoot('keeps changed files, and removes what is unchanged', async () => {
  await install()
  const config = join(root, 'etc/nexigon/agent.toml')
  const unit = join(root, 'etc/systemd/system/muster-agent.service')
  const changed = `${await readFile(config, 'utf8')}# changed\n`
  await writeFile(config, changed)
  await writeFile(unit, `${await readFile(unit, 'utf8')}# changed\n`)
  const again = await script()
  expect(again.code).toBe(0)
  expect(again.output).toContain('Keeps /etc/systemd/system/muster-agent.service, which was changed.')
  expect(await readFile(config, 'utf8')).toBe(changed)
  expect(await readFile(unit, 'utf8')).toContain('# changed')

  const removed = await script('--uninstall', '--purge')
  expect(removed.output).toContain('Keeps /etc/nexigon/agent.toml, which was changed.')
  expect(removed.output).toContain('Keeps /etc/systemd/system/muster-agent.service, which was changed.')
  expect(await readFile(config, 'utf8')).toBe(changed)
  expect(existsSync(join(root, 'usr/bin/muster-agent'))).toBe(false)
  expect(existsSync(join(root, 'usr/lib/muster-agent'))).toBe(false)
  expect(existsSync(join(root, 'etc/nexigon/agent'))).toBe(false)
})

withRoot.for([
  ['etc/nexigon/agent.toml', PUBLIC_CONFIG],
  ['etc/nexigon/agent/ssl/key.pem', 'a key'],
  ['usr/bin/muster-agent', '#!/bin/sh\n'],
  ['etc/systemd/system/muster-agent.service', '[Unit]\n'],
  ['usr/lib/muster-agent/other', 'x'],
])('changes nothing where %s is a file of something else', async ([path, content]) => {
  await mkdir(dirname(join(root, path!)), { recursive: true })
  await writeFile(join(root, path!), content!)
  const before = await files()
  const { code, output } = await install()
  expect(output).toContain(`\n/${path}\n`)
  expect(output).toContain('Nothing was changed.')
  expect(code).toBe(1)
  expect(await files()).toEqual(before)
  expect(await calls()).toEqual([])
  expect((await script('--uninstall', '--purge')).code).toBe(1)
  expect(await files()).toEqual(before)
})

withRoot('leaves the files of a public agent that came later', async () => {
  await install()
  await script('--uninstall')
  await writeFile(join(root, 'etc/nexigon/agent.toml'), PUBLIC_CONFIG)
  const before = await files()
  expect((await install()).output).toContain('\n/etc/nexigon/agent.toml\n')
  const { output } = await script('--uninstall', '--purge')
  expect(output).toContain('Keeps the identity of this device, because other software uses /etc/nexigon')
  expect(await files()).toEqual(before)
  // Simulates other software that overwrites the installed program with a file of its own.
  await rm(join(root, 'etc/nexigon/agent.toml'))
  expect((await install()).code).toBe(0)
  // As a package does, in a new file: nothing can write to a program that is just being started.
  await rm(join(root, 'usr/bin/muster-agent'))
  await writeFile(join(root, 'usr/bin/muster-agent'), 'of a package')
  expect((await script()).output).toContain('\n/usr/bin/muster-agent\n')
  expect((await script('--uninstall')).output).toContain('Keeps /usr/bin/muster-agent, which was changed.')
  expect(await readFile(join(root, 'usr/bin/muster-agent'), 'utf8')).toBe('of a package')
})

withRoot.for([
  ['before the hub has accepted the device', '  [ -f "$config" ] || enrol\n'],
  ['after that', "  undo=''\n  listed_as"],
])('cut off %s, is removed without a trace, or without the files of a public agent', async ([, line]) => {
  const before = await files()
  const { text } = await ask(hub, '/install.sh')
  expect(text).toContain(line)
  const cutOff = () =>
    install(
      fleet.token,
      text.replace(line!, () => `  kill -9 $$\n${line}`),
    )
  await cutOff()
  expect((await files()).map(pathOf)).toContain('etc/nexigon/agent/ssl/key.pem')
  expect((await script('--uninstall', '--purge')).code).toBe(0)
  expect(await files()).toEqual(before)

  for (const others of [
    ['cert.pem', 'key.pem'],
    ['cert.pem', 'key.pem', '../../agent.toml'],
  ]) {
    await cutOff()
    const paths = others.map(file => join(root, 'etc/nexigon/agent/ssl', file))
    if (others.includes('key.pem')) {
      const data = join(root, 'var/lib/nexigon/agent')
      await mkdir(data, { recursive: true })
      paths.push(join(data, 'event'))
    }
    for (const path of paths) await writeFile(path, `of a public agent: ${path}`)
    await script('--uninstall', '--purge')
    for (const path of paths) expect(await readFile(path, 'utf8')).toBe(`of a public agent: ${path}`)
    for (const path of paths) await rm(path)
    await script('--uninstall', '--purge')
    expect(await files()).toEqual(before)
  }
})

withRoot('does nothing when it was cut off', async () => {
  await writeFile(join(root, 'root/token'), fleet.token, { mode: 0o600 })
  const before = await files()
  const { text } = await ask(hub, '/install.sh')
  const end = text.trimEnd().length
  const cuts = Array.from({ length: 60 }, (_, at) => Math.floor((at * end) / 60))
  for (let length = end - 40; length < end; length++) cuts.push(length)
  for (const length of cuts) {
    await inRoot('sh', '-c', 'exec sh -s -- --token-file /root/token', text.slice(0, length))
    expect({ length, calls: await calls() }).toEqual({ length, calls: [] })
  }
  expect(await files()).toEqual(before)
})

withRoot('leaves nothing when the token has expired since it was shown', async () => {
  const before = await files()
  await fleet.owner.invoke('projects_SetDeploymentTokenLimits', {
    tokenId: fleet.tokenId,
    limits: { expiresAt: new Date(Date.now() - 1000).toISOString() },
  })
  const { code, output } = await install()
  expect(output).toContain('The hub did not accept this device: ')
  expect(output).toMatch(/expired/)
  expect(output).toContain('What this run installed is removed again.')
  expect(code).toBe(1)
  expect(await files()).toEqual(before)
  expect(await calls()).toEqual([])

  // An uninstall keeps the identity of the device. An installation with a refused token then removes everything except this identity.
  const { token } = await hub.token(fleet.owner, fleet.projectId)
  expect((await install(token)).code).toBe(0)
  await script('--uninstall')
  const identity = await files()
  const second = await hub.project(fleet.owner, fleet.organizationId)
  const other = await hub.token(fleet.owner, second)
  await fleet.owner.invoke('projects_DeleteDeploymentToken', { tokenId: other.tokenId })
  expect((await install(other.token)).output).toContain('the token is not accepted')
  expect(await files()).toEqual(identity)
})

withRoot('waits for approval with a token that does not accept automatically', async () => {
  const { token } = await hub.token(fleet.owner, fleet.projectId, false)
  const { code, output } = await install(token)
  expect(output).toContain('It waits until somebody accepts its certificate in the console.')
  expect(code).toBe(0)
  const { certificates } = await fleet.owner.invoke('projects_QueryPendingCertificates', {
    projectId: fleet.projectId,
  })
  expect(certificates).toHaveLength(1)
})

withRoot(
  'changes nothing without systemd, on an old kernel, with a wrong token, and with a token file that others can read',
  async () => {
    const before = await files()
    expect((await install('deployment_short')).output).toContain('Found a text of 16 characters')
    await writeFile(join(root, 'root/open'), fleet.token, { mode: 0o644 })
    expect((await script('--token-file', '/root/open')).output).toContain('expected 0600')
    await rm(join(root, 'root/open'))
    expect((await script()).output).toContain('Found no terminal to ask for the token')
    const named = await script(fleet.token)
    expect(named.output).toContain('A token is no argument')
    expect(named.output).not.toContain(fleet.token)
    const uname = join(root, 'usr/local/bin/uname')
    await writeFile(
      uname,
      '#!/bin/sh\nif [ "$1" = -r ]; then echo 4.15.0-213-generic; else echo x86_64; fi\n',
      {
        mode: 0o755,
      },
    )
    const old = await install()
    await rm(uname)
    expect(old).toMatchObject({
      code: 1,
      output:
        "\nFound Linux 4.15.0-213-generic, expected Linux 4.18 or newer for the hub's Node, or a Node 24 of this machine. Nothing was changed.\n",
    })
    await rm(join(root, 'run/systemd'), { recursive: true })
    expect(await install()).toMatchObject({
      code: 1,
      output: expect.stringContaining('Found no running systemd'),
    })
    expect(await files()).toEqual(before)
    expect(await calls()).toEqual([])
  },
)

withRoot('changes nothing when a download is not what the manifest says', async () => {
  const before = await files()
  const bodyOf = async (path: string): Promise<Buffer> => {
    const answer = await fetch(`${hub.url}${path}`)
    const body = Buffer.from(await answer.arrayBuffer())
    if (path === '/muster-agent') body[9]! ^= 1
    return body
  }
  const proxy = createServer((request, response) => {
    bodyOf(request.url!).then(
      body => response.end(body),
      () => response.destroy(),
    )
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  forRoot.defer(() => void proxy.close())
  const { text } = await ask(hub, '/install.sh')
  const { port } = proxy.address() as AddressInfo
  const { code, output } = await install(
    fleet.token,
    text.replace(/^ {2}hub='.*'$/m, `  hub='http://127.0.0.1:${port}'`),
  )
  expect(output).toContain('Found another digest of')
  expect(code).toBe(1)
  expect(await files()).toEqual(before)
})

withRoot('uses the Node of the device where it is new enough', async () => {
  await mkdir(join(root, 'usr/local/bin'), { recursive: true })
  await writeFile(join(root, 'usr/local/bin/node'), await readFile(process.execPath), { mode: 0o755 })
  expect((await install()).code).toBe(0)
  expect(existsSync(join(root, 'usr/lib/muster-agent/node'))).toBe(false)
  expect(await readFile(join(root, 'usr/bin/muster-agent'), 'utf8')).toContain('/usr/local/bin/node ')
  await connected()
})

type Ran = { code: number | null; output: string }

/** Runs the script of the hub as it is piped to a shell. */
async function script(...options: string[]): Promise<Ran> {
  return inRoot('sh', '-c', `exec sh -s -- ${options.join(' ')}`, (await ask(hub, '/install.sh')).text)
}

withRoot('installs the agent by hand with the commands of docs/operating.md', async () => {
  const document = await readFile(join(ROOT, 'docs/operating.md'), 'utf8')
  const [, block] = /\*\*By hand\.\*\*.*?```sh\n(.*?)^```$/ms.exec(document)!
  const hand = join(root, 'root/hand')
  await mkdir(hand)
  await packApp('agent', join(hand, 'muster-agent'))
  for (const file of ['muster-agent.service', 'fingerprint'])
    await copyFile(join(ROOT, 'apps/agent/examples', file), join(hand, file))
  await copyFile(process.execPath, join(root, 'usr/bin/node'))
  await chmod(join(root, 'usr/bin/node'), 0o755)
  const commands = block!
    .replace('https://hub.example.com', `http://localhost:${hub.address.port}`)
    .replace('deployment_…', fleet.token)
    // The hub of this test has no TLS.
    .replace(/^fingerprint-script = .*$/m, '$&\ndangerous-allow-plaintext = true')
  const { code, output } = await inRoot('sh', '-c', `set -e; cd /root/hand; ${commands}`, '')
  expect(output).toBe('\n')
  expect(code).toBe(0)
  await connected()
  expect(await modeOf('etc/nexigon/agent.toml')).toBe('600')
})

/** Installs with a token file, which is removed afterwards. */
async function install(token = fleet.token, text?: string): Promise<Ran> {
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
async function inRoot(program: string, ...rest: string[]): Promise<Ran> {
  const input = program === 'sh' && rest[0] === '-c' ? rest.pop()! : ''
  const child = spawn('setsid', ['--wait', 'chroot', root, program, ...rest], {
    env: { PATH: process.env.PATH },
  })
  child.stdin.on('error', () => {}).end(input)
  return ended(child)
}

/** Installs at a terminal and types the token. `seen` lists processes with the token in an argument or a variable. */
async function atTerminal(token: string): Promise<Ran & { seen: string[] }> {
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
async function connected() {
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
async function files(): Promise<string[]> {
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

const pathOf = (file: string) => file.split(' ')[0]!

/** Files of the scratch root, logs included, that contain a text. */
function filesWith(text: string): string[] {
  const all = ['upper', 'merged/run', 'merged/tmp'].flatMap(place => {
    const { stdout } = spawnSync('grep', ['-rlF', text, join(root, '..', place)], { encoding: 'utf8' })
    return stdout.split('\n').filter(Boolean)
  })
  return all.map(path => path.replace(/^.*\/upper\//, ''))
}

async function modeOf(path: string): Promise<string> {
  return ((await stat(join(root, path))).mode & 0o777).toString(8)
}

/** Calls of the fake `systemctl`. */
async function calls(): Promise<string[]> {
  return readOrEmpty(join(root, 'run/calls')).split('\n').filter(Boolean)
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
