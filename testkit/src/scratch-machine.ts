import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.ts'

const SYSTEMD = '/lib/systemd/systemd'
/** Namespaces of the machine: it sees no process, no mount and no network of this one. */
const NAMESPACES = ['--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child']
/** `$1` is the folder that the machine shares with the test. Nothing that the machine changes elsewhere is kept. */
const BOOT = `set -e
mount -t tmpfs -o size=3g tmpfs "$1/disk"
cd "$1/disk"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
mount -t cgroup2 cgroup root/sys/fs/cgroup
mount --rbind /dev root/dev
mount -t tmpfs tmpfs root/run
mount -t tmpfs tmpfs root/tmp
mount --bind "$1/shared" root/mnt
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
ExecStart=/bin/sh -c '/bin/sh /mnt/script >/mnt/output 2>&1; touch /mnt/done'
`

/** Whether this process may start a scratch machine: it is root on Linux with systemd, and may make namespaces and mounts. */
export function canStartMachine(): boolean {
  if (process.getuid?.() !== 0 || !existsSync(SYSTEMD)) return false
  const command =
    'd=$(mktemp -d) && mount -t tmpfs tmpfs $d && mkdir $d/u $d/w $d/m && mount -t overlay overlay -o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/m && mount -t cgroup2 cgroup $d/m/sys && ip link set lo up'
  return spawnSync('unshare', [...NAMESPACES, 'sh', '-c', command], { stdio: 'ignore' }).status === 0
}

/**
 * Runs a shell script as root on a copy of this machine with systemd as its first process. The copy is an overlay, so this machine stays as
 * it is. Files named in `files` are in `/mnt`. Returns what the script printed. Rejects if it has not ended after `timeoutMs`.
 */
export async function onScratchMachine(
  script: string,
  files: readonly string[],
  timeoutMs: number,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-machine-'))
  const shared = join(folder, 'shared')
  await mkdir(join(folder, 'disk'))
  await mkdir(shared)
  await writeFile(join(shared, 'test.service'), UNIT)
  await writeFile(join(shared, 'script'), script)
  spawnSync('cp', [...files, shared])
  const output = (): Promise<string> => readFile(join(shared, 'output'), 'utf8').catch(() => '')
  const machine = spawn('unshare', [...NAMESPACES, 'sh', '-c', BOOT, 'sh', folder], { stdio: 'ignore' })
  try {
    const hasEnded = (): boolean => existsSync(join(shared, 'done')) || machine.exitCode !== null
    await until('the end of the script', hasEnded, timeoutMs).catch(async cause => {
      throw new Error(`The script did not end: ${await output()}`, { cause })
    })
    return await output()
  } finally {
    const ended = new Promise(done => machine.once('close', done))
    if (machine.exitCode === null && machine.kill('SIGKILL')) await ended
    await rm(folder, { recursive: true, force: true })
  }
}
