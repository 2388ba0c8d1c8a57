import { spawnSync } from 'node:child_process'

/** Addresses of RFC 2544, which no network uses: on both sides of the router a network of two addresses. */
const HUB = '198.18.77.1'
const ROUTER_TO_HUB = '198.18.77.2'
const ROUTER_TO_DEVICE = '198.18.77.5'
const DEVICE = '198.18.77.6'

/** A network of two namespaces: a device, and a router between it and this machine that loses packets on request. */
export type LossyNetwork = Disposable & {
  /** Address of this machine for the device. */
  hubAddress: string
  /** Words before a command that runs in the namespace of the device. */
  onDevice: readonly string[]
  /** Loses all packets to one side, or to both, without telling the sender. */
  lose(to: 'device' | 'both'): void
  /** Forwards all packets again. */
  heal(): void
}

/** Makes the network. Returns undefined where network namespaces are not allowed. */
export function lossyNetwork(): LossyNetwork | undefined {
  const [device, router] = [`muster-device-${process.pid}`, `muster-router-${process.pid}`]
  // Names of interfaces have at most 15 characters.
  const link = `mu${process.pid}`
  const remove = (): void => {
    // A namespace ends later than the command, and its interfaces with it. The next network uses the same addresses.
    run('ip', ['link', 'del', `${link}h`])
    for (const name of [device, router]) run('ip', ['netns', 'del', name])
  }
  const inRouter = (line: string): boolean => ip(`-n ${router} ${line}`)
  const inDevice = (line: string): boolean => ip(`-n ${device} ${line}`)
  const isMade =
    ip(`netns add ${device}`) &&
    ip(`netns add ${router}`) &&
    ip(`link add ${link}h type veth peer name ${link}r netns ${router}`) &&
    ip(`addr add ${HUB}/30 dev ${link}h`) &&
    ip(`link set ${link}h up`) &&
    inRouter(`addr add ${ROUTER_TO_HUB}/30 dev ${link}r`) &&
    inRouter(`link set ${link}r up`) &&
    inRouter(`link add ${link}e type veth peer name ${link}d netns ${device}`) &&
    inRouter(`addr add ${ROUTER_TO_DEVICE}/30 dev ${link}e`) &&
    inRouter(`link set ${link}e up`) &&
    inDevice(`addr add ${DEVICE}/30 dev ${link}d`) &&
    inDevice(`link set ${link}d up`) &&
    inDevice(`route add default via ${ROUTER_TO_DEVICE}`) &&
    ip(`route add ${DEVICE}/32 via ${ROUTER_TO_HUB}`) &&
    // With `rp_filter` a packet is also lost if no packet could go back to its sender.
    run('ip', [
      'netns',
      'exec',
      router,
      '/bin/sh',
      '-c',
      'cd /proc/sys/net/ipv4 && echo 1 > ip_forward && for file in conf/*/rp_filter; do echo 0 > $file; done',
    ])
  if (!isMade) {
    remove()
    return undefined
  }
  return {
    hubAddress: HUB,
    onDevice: ['ip', 'netns', 'exec', device],
    lose(to) {
      for (const address of to === 'both' ? [DEVICE, HUB] : [DEVICE])
        if (!inRouter(`route add blackhole ${address}/32`)) throw new Error('the router loses no packets')
    },
    heal() {
      for (const address of [DEVICE, HUB]) inRouter(`route del blackhole ${address}/32`)
    },
    [Symbol.dispose]: remove,
  }
}

function ip(line: string): boolean {
  return run('ip', line.split(' '))
}

function run(program: string, words: readonly string[]): boolean {
  return spawnSync(program, words, { stdio: 'ignore' }).status === 0
}
