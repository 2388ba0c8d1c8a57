import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** A network of two namespaces: a device, and a router between it and this machine that loses packets on request. */
export type LossyNetwork = Disposable & {
  /** Address of this machine for the device, and address of the device for this machine. */
  hubAddress: string
  deviceAddress: string
  /** Words before a command that runs in the namespace of the device. */
  onDevice: readonly string[]
  /** Loses all packets to one side, or to both, without telling the sender. */
  lose(to: 'device' | 'both'): void
  /** Forwards all packets again. */
  heal(): void
}

/**
 * Makes the network. Returns undefined where network namespaces or links between them are not allowed; throws if a later step fails.
 * Removes the networks of earlier processes that were killed.
 */
export function lossyNetwork(): LossyNetwork | undefined {
  for (const pid of abandonedPids()) remove(pid)
  const { device, router, link } = namesOf(process.pid)
  const [hub, routerToHub, routerToDevice, ofDevice] = [1, 2, 5, 6].map(addressOf) as Addresses
  const isAllowed =
    ip(`netns add ${device}`) &&
    ip(`netns add ${router}`) &&
    ip(`link add ${link}h type veth peer name ${link}r netns ${router}`)
  if (!isAllowed) {
    remove(process.pid)
    return undefined
  }
  const inRouter = (line: string): void => required(`-n ${router} ${line}`)
  const inDevice = (line: string): void => required(`-n ${device} ${line}`)
  try {
    required(`addr add ${hub}/30 dev ${link}h`)
    required(`link set ${link}h up`)
    inRouter(`addr add ${routerToHub}/30 dev ${link}r`)
    inRouter(`link set ${link}r up`)
    inRouter(`link add ${link}e type veth peer name ${link}d netns ${device}`)
    inRouter(`addr add ${routerToDevice}/30 dev ${link}e`)
    inRouter(`link set ${link}e up`)
    inDevice(`addr add ${ofDevice}/30 dev ${link}d`)
    inDevice(`link set ${link}d up`)
    inDevice(`route add default via ${routerToDevice}`)
    required(`route add ${ofDevice}/32 via ${routerToHub}`)
    // With `rp_filter` a packet is also lost if no packet could go back to its sender.
    succeed([
      ...inside(router),
      '/bin/sh',
      '-c',
      'cd /proc/sys/net/ipv4 && echo 1 > ip_forward && for file in conf/*/rp_filter; do echo 0 > $file; done',
    ])
  } catch (error) {
    remove(process.pid)
    throw error
  }
  return {
    hubAddress: hub,
    deviceAddress: ofDevice,
    onDevice: inside(device),
    lose(to) {
      for (const address of to === 'both' ? [ofDevice, hub] : [ofDevice])
        inRouter(`route add blackhole ${address}/32`)
    },
    heal() {
      for (const address of [ofDevice, hub]) ip(`-n ${router} route del blackhole ${address}/32`)
    },
    [Symbol.dispose]: () => remove(process.pid),
  }
}

type Addresses = [string, string, string, string]

/** Names of the namespaces of a process, and the first part of the names of its interfaces, which have at most 15 characters. */
function namesOf(pid: number) {
  return { device: `muster-device-${pid}`, router: `muster-router-${pid}`, link: `mu${pid}` }
}

/**
 * Address of this process in 198.18.0.0/15 (RFC 2544), which no network uses. A process has 8 of them: on both sides of its router a
 * network of two addresses. Two processes at once have different ones.
 */
function addressOf(n: number): string {
  const at = (process.pid % 2 ** 14) * 8 + n
  return `198.${18 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`
}

/**
 * Words before a command that runs in a namespace. Unlike `ip netns exec`, it has the mounts of this machine: with a copy of them it would
 * keep the disk of `crashing-disk.ts` in use.
 */
function inside(namespace: string): string[] {
  return ['nsenter', `--net=/run/netns/${namespace}`]
}

/** Ids of dead processes, or of an earlier process with our id, whose namespaces still exist. */
function abandonedPids(): number[] {
  const { stdout } = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' })
  const pids = [...(stdout ?? '').matchAll(/^muster-(?:device|router)-(\d+)/gm)].map(([, pid]) => Number(pid))
  return [...new Set(pids)].filter(pid => pid === process.pid || !existsSync(`/proc/${pid}`))
}

/** A namespace may end later than the command: its link is removed first, and the routes with it. */
function remove(pid: number): void {
  const { device, router, link } = namesOf(pid)
  ip(`link del ${link}h`)
  for (const name of [device, router]) ip(`netns del ${name}`)
}

/** Whether `ip` succeeded. */
function ip(line: string): boolean {
  return spawnSync('ip', line.split(' '), { stdio: 'ignore' }).status === 0
}

function required(line: string): void {
  succeed(['ip', ...line.split(' ')])
}

function succeed([program, ...words]: string[]): void {
  const { status, stderr, error } = spawnSync(program!, words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${words.join(' ')}: ${error?.message ?? stderr}`)
}
