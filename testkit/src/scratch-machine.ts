import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.ts'

const SYSTEMD = '/lib/systemd/systemd'
const DISK_BYTES = 3 * 1024 ** 3
/** Namespaces of the machine: it sees no process, no mount and no network of this one. */
const NAMESPACES = ['--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child']
/**
 * Boots the machine. `$1` is a folder with `disk`, where its file system is mounted, and `shared`, which is its `/mnt`. `$2` is a folder of
 * this machine for it to read. Nothing that the machine changes elsewhere is kept.
 */
const BOOT = `set -e
mount -t tmpfs -o size=${DISK_BYTES} tmpfs "$1/disk"
cd "$1/disk"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
mount -t cgroup2 cgroup root/sys/fs/cgroup
mount --rbind /dev root/dev
mount -t tmpfs tmpfs root/dev/shm
mount -t tmpfs tmpfs root/run
mount -t tmpfs tmpfs root/tmp
mount --bind "$1/shared" root/mnt
if [ -n "$2" ]; then mkdir -p "root$2"; mount --bind "$2" "root$2"; mount -o remount,bind,ro "root$2"; fi
ip link set lo up
# Services of this machine stay away, and packages may start theirs.
rm -rf root/etc/systemd/system/*.wants root/usr/sbin/policy-rc.d
# Disks of this machine are not waited for, and settings of the kernel, which both machines share, stay.
: >root/etc/fstab
for unit in systemd-udevd systemd-udev-trigger systemd-sysctl systemd-binfmt systemd-modules-load systemd-random-seed; do ln -sf /dev/null "root/etc/systemd/system/$unit.service"; done
cp "$1/shared/test.service" root/etc/systemd/system/
# systemd hands credentials to services through a mount.
mount --make-rshared root
exec chroot root ${SYSTEMD} --system --unit=test.service --log-target=null --show-status=no
`
const UNIT = `[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/touch /mnt/booted
`
const BOOT_MS = 60_000
/** Time after the timeout of a command for its output to end. */
const STUCK_MS = 5_000
/** Programs that the machine's services and packages call, and nothing of a checkout: neither its Node nor npm. */
const ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' }

/** Result of a command: its exit code, and standard output and standard error in the order of their arrival. */
export type Ended = { status: number | null; output: string }

/** A copy of this machine with systemd as its first process and without a network. What its commands change stays in the copy. */
export type ScratchMachine = AsyncDisposable & {
  /** Host folder mounted as `/mnt`. */
  folder: string
  /**
   * Runs a shell command as root in `/mnt`, and kills it after `timeoutMs`. Rejects with the output so far if a signal ended it, or if
   * a process that it left behind keeps its output open for 5 s after that time.
   */
  run(command: string, timeoutMs?: number): Promise<Ended>
  /** Starts a shell command as root in `/mnt`. It ends with the machine at the latest. */
  start(command: string): ChildProcess
  /** Limits free disk space; without `freeBytes` removes the limit. */
  setRoom(freeBytes?: number): Promise<void>
}

/** Whether this process may start a scratch machine: it is root on Linux with systemd, and may make namespaces and mounts. */
export function canStartMachine(): boolean {
  if (process.getuid?.() !== 0 || !existsSync(SYSTEMD)) return false
  const command =
    'mount -t tmpfs tmpfs /tmp && cd /tmp && mkdir u w m && mount -t overlay overlay -o lowerdir=/,upperdir=u,workdir=w m && mount -t cgroup2 cgroup m/sys && ip link set lo up'
  return spawnSync('unshare', [...NAMESPACES, 'sh', '-c', command], { stdio: 'ignore' }).status === 0
}

/**
 * Starts a copy of this machine, an overlay in memory. Copies `files` to its `/mnt`, and binds `readOnly`, a folder of this machine, to the
 * same path.
 */
export async function startScratchMachine(
  files: readonly string[],
  readOnly?: string,
): Promise<ScratchMachine> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-machine-'))
  const shared = join(folder, 'shared')
  await mkdir(join(folder, 'disk'))
  await mkdir(shared)
  await writeFile(join(shared, 'test.service'), UNIT)
  spawnSync('cp', [...files, shared])
  const words = [...NAMESPACES, 'sh', '-c', BOOT, 'sh', folder, readOnly ?? '']
  // The machine ends with this process, even if that is killed.
  const machine = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...words], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const bootOutput = outputOf(machine)
  // `unshare` has one child, the first process of the machine.
  const firstPid = (): string =>
    readFileSync(`/proc/${machine.pid}/task/${machine.pid}/children`, 'utf8').trim()
  const start = (command: string, inFront: readonly string[] = []): ChildProcess => {
    const called = [...inFront, 'sh', '-c', `cd /mnt && ${command}`]
    const enter = ['--target', firstPid(), '--all', '--root', '--wd', ...called]
    return spawn('nsenter', enter, { env: ENV, stdio: ['ignore', 'pipe', 'pipe'] })
  }
  const started: ScratchMachine = {
    folder: shared,
    start: command => start(command),
    async run(command, timeoutMs = 240_000) {
      // A signal to `nsenter` would leave the shell in the machine running.
      const child = start(command, ['timeout', '--signal=KILL', String(timeoutMs / 1000)])
      const output = outputOf(child)
      let isStuck = false
      const timer = setTimeout(() => {
        isStuck = true
        child.kill('SIGKILL')
        child.stdout?.destroy()
        child.stderr?.destroy()
      }, timeoutMs + STUCK_MS)
      await once(child, 'close')
      clearTimeout(timer)
      if (isStuck || child.signalCode !== null)
        throw new Error(`${command}: ${isStuck ? 'its output stays open' : child.signalCode}: ${output()}`)
      return { status: child.exitCode, output: output() }
    },
    async setRoom(freeBytes) {
      const { blocks, bfree, bsize } = await statfs(`/proc/${firstPid()}/root`)
      const sizeBytes = freeBytes === undefined ? DISK_BYTES : (blocks - bfree) * bsize + freeBytes
      const remount = ['mount', '-o', `remount,size=${sizeBytes}`, join(folder, 'disk')]
      const { status, stderr } = spawnSync('nsenter', ['--target', firstPid(), '--mount', ...remount])
      if (status !== 0) throw new Error(`The disk was not resized: ${stderr}`)
    },
    async [Symbol.asyncDispose]() {
      const ended = new Promise(done => machine.once('close', done))
      if (machine.exitCode === null && machine.kill('SIGKILL')) await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
  try {
    const hasBooted = (): boolean => {
      if (machine.exitCode !== null) throw new Error('The machine ended.')
      return existsSync(join(shared, 'booted'))
    }
    await until('the machine has booted', hasBooted, BOOT_MS)
  } catch (cause) {
    await started[Symbol.asyncDispose]()
    throw new Error(`The machine did not boot: ${bootOutput()}`, { cause })
  }
  return started
}

/** Collects the output of a process. */
function outputOf(child: ChildProcess): () => string {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (output += chunk))
  return () => output
}
