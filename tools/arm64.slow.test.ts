import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VERSION } from '@muster/actions/version'
import { until } from '@muster/testkit'
import { freePort } from '@muster/testkit/free-port'
import { hasPrograms, PROGRAMS } from '@muster/testkit/programs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packFolder } from './release/archive.ts'
import { writeDebianPackages } from './release/debian.ts'
import { PRODUCTS, type Product } from './release/product.ts'
import { ROOT } from './release/run.ts'
import { missingPackages, writeTree } from './release/tree.ts'
import { MAX_AGENT_PACKAGE_BYTES, MAX_HUB_ARCHIVE_BYTES } from './testing/built-release.ts'

/** Account of the hub, because the database server refuses to run as root. It is `nobody` of Debian. */
const ACCOUNT = 65534
/** The first bytes of a program for arm64, as bytes and as a mask (https://docs.kernel.org/admin-guide/binfmt-misc.html). */
const MAGIC = String.raw`\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`
const MASK = String.raw`\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`
const DOWNLOADS = join(ROOT, 'node_modules/.cache/muster-arm64')
/**
 * Runs a program for arm64 and its child processes in QEMU, with the C library of Debian's cross compiler. The kernel's table of
 * interpreters belongs to the user namespace, so the machine itself stays as it is.
 */
const INTO_ARM64 = `set -e
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
printf '%s' ':arm64:M::${MAGIC}:${MASK}:${PROGRAMS['qemu-aarch64'].path}:F' >/proc/sys/fs/binfmt_misc/register
mount -t overlay overlay -o lowerdir=/usr/aarch64-linux-gnu/lib:/usr/lib /usr/lib
exec unshare --user --map-user=1000 "$@"
`
/** The program is the first process of a namespace. It and its child processes end with this process, even if that is killed. */
const asArm64 = (words: string[]): string[] => [
  ...['--reuid', String(ACCOUNT), '--regid', String(ACCOUNT), '--clear-groups', '--pdeathsig', 'KILL'],
  ...['unshare', '--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'],
  ...['sh', '-c', INTO_ARM64, 'sh', ...words],
]
const canRunArm64 =
  process.getuid?.() === 0 &&
  process.arch === 'x64' &&
  hasPrograms('qemu-aarch64', 'libraries for arm64') &&
  spawnSync('setpriv', asArm64(['true'])).status === 0 &&
  hasPackages()

/** Stands in for the machine's `uname`, which the launchers ask. The machine's shell runs them. */
const UNAME = '#!/bin/sh\necho 6.1.0-13-arm64 aarch64\n'

/** Whether the packages for arm64 are here, or the registry has them. */
function hasPackages(): boolean {
  const [missing] = missingPackages('muster-hub', 'arm64', DOWNLOADS)
  if (!missing) return true
  const options = ['view', missing.id, 'version', '--fetch-retries=0', '--fetch-timeout=20000']
  return spawnSync('npm', options, { timeout: 60_000 }).status === 0
}

describe.runIf(canRunArm64)('a release for arm64', () => {
  let folder: string
  let path: string
  const treeOf = (product: Product): string => join(folder, product)
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'muster-arm64-'))
    chmodSync(folder, 0o755)
    mkdirSync(join(folder, 'stand-ins'))
    writeFileSync(join(folder, 'stand-ins/uname'), UNAME, { mode: 0o755 })
    path = `${folder}/stand-ins:/usr/bin:/bin`
    expect(spawnSync(process.execPath, [join(ROOT, 'tools/build-console.ts')]).status).toBe(0)
    for (const product of PRODUCTS) {
      await writeTree(product, 'arm64', treeOf(product), DOWNLOADS)
      spawnSync('chmod', ['-R', 'go+rX', treeOf(product)])
    }
  }, 900_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it.each([
    ['muster-agent', 'muster-agent'],
    ['muster-cli', 'muster'],
  ] as const)('has %s, which runs in QEMU', { timeout: 120_000 }, (product, program) => {
    const words = asArm64([join(treeOf(product), 'bin', program), '--version'])
    const shown = spawnSync('setpriv', words, { encoding: 'utf8', env: { PATH: path } })
    expect(shown.stdout.trim(), shown.stderr).toBe(VERSION)
  })

  it('starts with its database in QEMU, and verifies a password', { timeout: 600_000 }, async () => {
    const cwd = join(folder, 'data')
    mkdirSync(cwd)
    chownSync(cwd, ACCOUNT, ACCOUNT)
    const url = `http://localhost:${await freePort()}`
    const env = { PATH: path, MUSTER_DATA_DIR: cwd, MUSTER_PORT: new URL(url).port }
    const hub = spawn('setpriv', asArm64([join(treeOf('muster-hub'), 'bin/muster-hub')]), { cwd, env })
    let output = ''
    for (const stream of [hub.stdout, hub.stderr]) stream.on('data', chunk => (output += chunk))
    const exited = new Promise(done => hub.once('exit', done))
    try {
      const hasEnded = (): boolean => hub.exitCode !== null || hub.signalCode !== null
      await until('the sign-in is printed', () => output.includes('Stop with Ctrl-C') || hasEnded(), 400_000)
      expect(hasEnded(), output).toBe(false)
      const { email, password } = JSON.parse(readFileSync(join(cwd, 'initial-admin.json'), 'utf8')) as Record<
        string,
        string
      >
      const signIn = await fetch(`${url}/api/private/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: url },
        body: JSON.stringify({ email, password, remember: false }),
      })
      expect(signIn.headers.get('set-cookie')).toContain('muster=')
    } finally {
      // `unshare` has one child, the hub, and passes no signals on.
      spawnSync('sh', ['-c', 'kill $(cat /proc/$0/task/$0/children)', String(hub.pid)])
      const timer = setTimeout(() => hub.kill('SIGKILL'), 60_000)
      await exited
      clearTimeout(timer)
    }
    expect(hub.exitCode, output).toBe(0)
    expect(existsSync(join(cwd, 'database.json'))).toBe(true)
  })

  // The packages take the folders of the programs.
  it.runIf(hasPrograms('dpkg-deb'))(
    'is within the same bounds of size as the one for x64',
    { timeout: 300_000 },
    async () => {
      const archive = join(folder, 'muster-hub.tar.gz')
      await packFolder(treeOf('muster-hub'), archive)
      expect(statSync(archive).size).toBeLessThan(MAX_HUB_ARCHIVE_BYTES)
      const [agent] = await writeDebianPackages(
        'muster-agent',
        'arm64',
        treeOf('muster-agent'),
        folder,
        DOWNLOADS,
      )
      expect(statSync(agent!).size).toBeLessThan(MAX_AGENT_PACKAGE_BYTES)
    },
  )
})
