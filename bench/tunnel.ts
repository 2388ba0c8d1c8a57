import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@muster/actions'
import { createDeviceCertificate } from '../apps/agent/src/certificate.ts'
import { ask, forked, median } from './child.ts'
import { type BenchHub, signIn, startBenchHub } from './hub-process.ts'
import { treeProcessorSecs, watchGrowth } from './processes.ts'
import type { Gets, GetsRun, StreamsRun, Target, Transfer } from './stream-client.ts'
import type { DeviceReady, EventsRun } from './tunnel-device.ts'
import { report, reportGoal } from './yardsticks.ts'

const ROUNDS = 3
const SECS = 4
const SMALL_PER_SEC = 50
/**
 * Events per second of the measured device, equal to the rate per device in goal P3 (docs/goals.md). The rate is low, because
 * the hub answers the calls on an executor channel one after the other.
 */
const EVENTS_PER_SEC = 5
const EVENTS_SECS = 20
const GIGABYTE = 1024 ** 3

type Run = { megabytesPerSec: number; hubSecsPerGigabyte: number; evenness: number }

/**
 * Bench for web pages of devices (docs/goals.md P9, P10, P11). Measures one stream and four streams through the hub and a mutual-TLS
 * link, alternating with a minimal tunnel over one WebSocket. Also measures small requests, direct and through the tunnel, and
 * events of a device that streams at full speed.
 */
export async function tunnel(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-tunnel-'))
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
  await chmod(folder, 0o755)
  const [cert, key] = [join(folder, 'hub.pem'), join(folder, 'hub.key')]
  const made = createDeviceCertificate('localhost')
  await writeFile(cert, made.certificatePem)
  await writeFile(key, made.keyPem)
  await using hub = await startBenchHub({ MUSTER_TLS_CERT: cert, MUSTER_TLS_KEY: key })
  const { child: source, ready: page } = await forked<{ port: number }>('tunnel-peer.ts', 'source')
  const { child: device, ready } = await forked<DeviceReady>('tunnel-device.ts', hub.url, hub.token)
  const peer = await forked<{ port: number; devicePort: number }>('tunnel-peer.ts', 'hub', cert, key)
  const peerDevice = await forked(
    'tunnel-peer.ts',
    'device',
    String(peer.ready.devicePort),
    String(page.port),
  )
  const { child: client } = await forked('stream-client.ts')

  const direct: Target = { port: page.port, isTls: false, headers: { host: 'localhost' } }
  const least: Target = { port: peer.ready.port, isTls: true, headers: { host: 'localhost' } }
  const through = await openProxy(hub, ready.deviceId, page.port)
  const ssh = await startSsh(folder, page.port)

  for (const streams of [1, 4]) {
    const runs: Record<string, Run[]> = { hub: [], least: [], ssh: [] }
    for (let round = 0; round < ROUNDS; round++) {
      runs.least!.push(await stream(client, least, streams, peer.child.pid!))
      runs.hub!.push(await stream(client, through, streams, hub.pid))
      if (ssh) runs.ssh!.push(await stream(client, ssh.target, streams, ssh.pid))
    }
    const [ours, theirs, other] = [middle(runs.hub!), middle(runs.least!), middle(runs.ssh!)]
    const name = `${streams} stream${streams > 1 ? 's' : ''}`
    report(`${name}, wss tunnel`, runText(theirs!))
    report(`${name}, ssh -R`, other ? runText(other) : 'skipped: sshd is not installed')
    report(`${name}, HTTP proxy`, runText(ours!))
    if (streams === 1) {
      judge(
        'P9',
        'stream, share of the wss tunnel',
        ours!.megabytesPerSec / theirs!.megabytesPerSec,
        '>=',
        0.8,
      )
      if (other)
        judge('P9', 'stream, share of ssh -R', ours!.megabytesPerSec / other.megabytesPerSec, '>=', 0.7)
    } else judge('P11', 'slowest of 4 streams to fastest', ours!.evenness, '>=', 0.8)
  }

  const small = async (target: Target): Promise<GetsRun> => {
    const gets: Gets = { target, path: '/', perSec: SMALL_PER_SEC, secs: 8 }
    const run = await ask<GetsRun>(client, { gets })
    if (run.failures.length > 0)
      throw new Error(`${run.failures.length} small GETs failed: ${run.failures[0]}`)
    return run
  }
  const [near, far] = [await small(direct), await small(through)]
  report('small GET, direct', `p50 ${near.p50Ms.toFixed(2)} ms, p99 ${near.p99Ms.toFixed(2)} ms`)
  report('small GET, through', `p50 ${far.p50Ms.toFixed(2)} ms, p99 ${far.p99Ms.toFixed(2)} ms`)
  judge('P10', 'small GET, p50 beyond direct, ms', far.p50Ms - near.p50Ms, '<=', 2)
  judge('P10', 'small GET, p99 beyond direct, ms', far.p99Ms - near.p99Ms, '<=', 10)

  const quiet = await ask<EventsRun>(device, { perSec: EVENTS_PER_SEC, secs: EVENTS_SECS })
  const [events, beside] = await Promise.all([
    ask<EventsRun>(device, { perSec: EVENTS_PER_SEC, secs: EVENTS_SECS }),
    stream(client, through, 1, hub.pid, EVENTS_SECS),
  ])
  report('events, idle link', `p50 ${quiet.p50Ms.toFixed(2)} ms, p99 ${quiet.p99Ms.toFixed(2)} ms`)
  report(
    'events during a stream',
    `p50 ${events.p50Ms.toFixed(2)} ms, p99 ${events.p99Ms.toFixed(2)} ms, at ${beside.megabytesPerSec.toFixed(0)} MB/s`,
  )
  judge('P11', 'events during a stream, p99, ms', events.p99Ms, '<=', 50)

  for (const isUpload of [false, true]) {
    const question: { transfer: Transfer } = { transfer: { target: through, bytes: GIGABYTE, isUpload } }
    using growth = watchGrowth(hub.pid, 50)
    const { isSame, secs } = await ask<{ isSame: boolean; secs: number }>(client, question)
    const name = `a gigabyte ${isUpload ? 'up' : 'down'}`
    report(name, `${isSame ? 'unchanged' : 'CHANGED'}, ${secs.toFixed(1)} s`)
    judge('', `${name}, growth of the hub, MiB`, growth.mostKiB() / 1024, '<=', 64)
  }

  for (const child of [source, device, peer.child, peerDevice.child, client]) child.disconnect()
  ssh?.stop()
}

/** Reads `streams` endless pages for `secs` seconds. Counts the CPU time of `pid`, the process of the measured tunnel. */
async function stream(
  client: ChildProcess,
  target: Target,
  streams: number,
  pid: number,
  secs = SECS,
): Promise<Run> {
  const before = treeProcessorSecs(pid)
  const { perSec } = await ask<StreamsRun>(client, { streams: { target, path: '/flat', streams, secs } })
  const bytesPerSec = perSec.reduce((sum, each) => sum + each, 0)
  // The CPU time includes one second of warm-up, which transfers about as many bytes as any other second.
  const gigabytes = (bytesPerSec * (secs + 1)) / 1e9
  return {
    megabytesPerSec: bytesPerSec / 1e6,
    hubSecsPerGigabyte: (treeProcessorSecs(pid) - before) / gigabytes,
    evenness: Math.min(...perSec) / Math.max(...perSec),
  }
}

/** Issues a token for a port of a device. Returns the hub's port, and the host name and cookie that a browser would send. */
export async function openProxy(hub: BenchHub, deviceId: string, port: number): Promise<Target> {
  // The hub's certificate is self-signed, so it is not verified.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  process.removeAllListeners('warning')
  const headers = { cookie: await signIn(hub), origin: hub.url }
  const invoke = createClient({ baseUrl: hub.url, headers })
  const { jwt, url } = await invoke('devices_IssueHttpProxyToken', { deviceId, port })
  const isTls = hub.url.startsWith('https:')
  const cookie = `${isTls ? '__Host-muster-device' : 'muster-device'}=${jwt}`
  return { port: Number(new URL(hub.url).port), isTls, headers: { host: new URL(url).host, cookie } }
}

/**
 * Starts sshd and `ssh -R` from this machine to itself, as a second yardstick for the tunnel. Returns undefined if sshd is not installed or
 * this process does not run as root.
 */
async function startSsh(folder: string, targetPort: number) {
  const server = '/usr/sbin/sshd'
  if (!existsSync(server) || process.getuid?.() !== 0) return undefined
  const [sshPort, port] = [18_875, 18_870]
  const file = (name: string): string => join(folder, name)
  for (const name of ['host', 'client'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file(name)])
  execFileSync('mkdir', ['-p', '/run/sshd'])
  await writeFile(
    file('sshd.conf'),
    `Port ${sshPort}\nListenAddress 127.0.0.1\nHostKey ${file('host')}\nAuthorizedKeysFile ${file('client.pub')}
StrictModes no\nPidFile none\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n`,
  )
  const daemon = spawn(server, ['-D', '-f', file('sshd.conf')], { stdio: 'ignore' })
  const settings = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'ExitOnForwardFailure=yes']
  const link = spawn(
    'ssh',
    [
      ...['-N', '-F', 'none', '-i', file('client'), '-p', String(sshPort)],
      ...settings.flatMap(setting => ['-o', setting]),
      ...['-o', 'ConnectionAttempts=10', '-R', `127.0.0.1:${port}:127.0.0.1:${targetPort}`, 'root@127.0.0.1'],
    ],
    { stdio: 'ignore' },
  )
  const stop = (): void => {
    link.kill()
    daemon.kill()
  }
  process.once('exit', stop)
  const target: Target = { port, isTls: false, headers: { host: 'localhost' } }
  await new Promise(done => setTimeout(done, 3_000))
  return { target, pid: daemon.pid!, stop }
}

/** The run with the median rate. */
function middle(runs: Run[]): Run | undefined {
  const rate = median(runs.map(run => run.megabytesPerSec))
  return runs.find(run => run.megabytesPerSec === rate)
}

function runText({ megabytesPerSec, hubSecsPerGigabyte, evenness }: Run): string {
  return `${megabytesPerSec.toFixed(0)} MB/s, ${hubSecsPerGigabyte.toFixed(2)} s of its processor a GB, slowest/fastest ${evenness.toFixed(2)}`
}

function judge(id: string, what: string, measured: number, relation: '>=' | '<=', gate: number): void {
  const isKept = relation === '>=' ? measured >= gate : measured <= gate
  reportGoal(id, what, measured.toFixed(2), `${relation} ${gate.toFixed(2)}`, isKept)
}
