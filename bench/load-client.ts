// The load client. It acts as many devices, or as many clients of a plain WebSocket echo server, each on its own socket. Sends
// one answer to each message of the bench that forked it.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createSecureContext, type SecureContext } from 'node:tls'
import { deviceIdentity } from '@muster/testkit/device'
import { deviceProfile } from '../apps/agent/src/simulator/device-profile.ts'
import {
  appConfigOf,
  labelOf,
  otaStatusOf,
  PROPERTY,
  systemInfoOf,
} from '../apps/agent/src/simulator/device-properties.ts'
import { answerAll, quantile } from './child.ts'
import { EventCalls, type HubTarget, LeanDevice, type PreparedCall } from './lean-device.ts'
import { frameOf, RawSocket } from './raw-socket.ts'

/** Commands of a bench to its load client. */
export type LoadCommand =
  | { connect: ConnectLoad }
  | { reconnect: { parallel: number; resumes: boolean; giveUpMs: number } }
  | { publish: { secs: number; devices: number; window: number } }
  | { schedule: { secs: number; devices: number; perSec: number; withLatencies?: boolean } }
  | { setProperty: { name: string } }
  | { setProfiles: true }
  | { writeProperty: { secs: number; devices: number; name: string; values: [unknown, unknown] } }
  | { keepLedger: LedgerLoad }
  | { endLedger: true }
  | { stay: true }
  | { absences: true }
  | { echo: { connect: { port: number; tls?: TlsFiles; count: number; parallel: number } } }
  | { echo: { secs: number; window: number; messageBytes: number } }
  | { echo: { pings: true } }

type TlsFiles = { cert: string; key: string }

export type ConnectLoad = {
  url: string
  token: string
  count: number
  /** Maximum number of connections that are opened at the same time. */
  parallel: number
  /** Certificate that all devices share if the hub uses TLS. Otherwise they send a certificate in `X-Client-Cert`. */
  tls?: TlsFiles
}

type LedgerLoad = {
  devices: number
  /** Time after an acknowledged event until the device publishes the next one, in milliseconds. */
  pauseMs: number
  /** Publishes an event every `pauseMs` instead, and catches up on the events that were due while the device was disconnected. */
  isScheduled?: boolean
}

export type PublishRun = {
  acknowledged: number
  secs: number
  p50Ms: number
  p99Ms: number
  /** Times to the acknowledgement of each event, if they were asked for. */
  latenciesMs?: number[]
}
export type ConnectRun = { secs: number }
export type ReconnectRun = {
  /** Times in milliseconds since 1970. A connection is accepted with its WebSocket; a device is admitted with its executor channel. */
  firstAcceptedAt: number
  lastAdmittedAt: number
  /** Number of attempts to connect that failed after `firstAcceptedAt`, and number of connections that resumed a TLS session. */
  failures: number
  resumed: number
}
export type AbsencesRun = {
  /** Durations of the disconnections that ended since the previous report, in milliseconds, in ascending order. */
  absencesMs: number[]
  /** Number of devices that are disconnected at the time of the report. */
  away: number
  /** Number of attempts to reconnect that failed since the previous report. */
  failures: number
}
export type LedgerRun = {
  deviceId: string
  acknowledged: string[]
  /** Ids of events that were sent but not acknowledged when the ledger ended. They may be stored. */
  unanswered: string[]
}[]

/** Ping interval of agents in milliseconds. The devices of a client ping in `PING_GROUPS` groups, spread over the interval. */
const PING_MS = 5_000
const PING_GROUPS = 50
/** Pause in milliseconds before a refused device retries during a reconnect storm. */
const RETRY_MS = 50

/** Longest pause before an attempt to reconnect, in milliseconds. Muster's agent reconnects within a second. */
const COME_BACK_MS = 1_000
/** Interval of the checks for lost connections, in milliseconds. */
const LOOK_MS = 50

const devices: LeanDevice[] = []
const echoes: RawSocket[] = []
/** True if the clients of an echo server send Pings as often as devices do. */
let doEchoesPing = false
const ECHO_PING = frameOf(Buffer.alloc(1))
let target: HubTarget | undefined
let ledger: { isOver: boolean; ended: Promise<LedgerRun> } | undefined

/** Disconnected devices, and the disconnections since the last command `absences`. Undefined until the command `stay`. */
let staying: { away: Set<LeanDevice>; absencesMs: number[]; failures: number } | undefined

answerAll(run)

let turn = 0
setInterval(() => {
  for (let at = turn; at < devices.length; at += PING_GROUPS) devices[at]!.ping()
  if (doEchoesPing) for (let at = turn; at < echoes.length; at += PING_GROUPS) echoes[at]!.write(ECHO_PING)
  turn = (turn + 1) % PING_GROUPS
}, PING_MS / PING_GROUPS)

async function run(command: LoadCommand): Promise<unknown> {
  if ('connect' in command) return connect(command.connect)
  if ('reconnect' in command) return reconnect(command.reconnect)
  if ('publish' in command) return publish(command.publish)
  if ('schedule' in command) return schedule(command.schedule)
  if ('setProperty' in command) return setProperty(command.setProperty)
  if ('setProfiles' in command) return setProfiles()
  if ('writeProperty' in command) return writeProperty(command.writeProperty)
  if ('keepLedger' in command) return keepLedger(command.keepLedger)
  if ('endLedger' in command) return endLedger()
  if ('stay' in command) return stay()
  if ('absences' in command) return absences()
  if ('connect' in command.echo) return connectEchoes(command.echo.connect)
  if ('secs' in command.echo) return echo(command.echo)
  doEchoesPing = true
  return {}
}

/** Connects new devices. They share one certificate, so that the creation of certificates is not measured. */
async function connect({ url, token, count, parallel, tls }: ConnectLoad): Promise<ConnectRun> {
  const secureContext = tls && createSecureContext(tls)
  const certificatePem = tls ? undefined : (await deviceIdentity()).certificatePem
  const to: HubTarget = {
    port: Number(new URL(url).port),
    token,
    ...(secureContext && { secureContext }),
    ...(certificatePem !== undefined && { certificatePem }),
  }
  target = to
  const seed = randomBytes(16).toString('hex')
  const fresh = Array.from({ length: count }, (_, at) => new LeanDevice(at, seed))
  const started = performance.now()
  await inParallel(parallel, fresh, async device => {
    await device.connect(to)
    devices.push(device)
  })
  return { secs: secondsSince(started) }
}

/** Lets every device reconnect as soon as its connection is lost, retrying until it is admitted. */
async function reconnect(load: {
  parallel: number
  resumes: boolean
  giveUpMs: number
}): Promise<ReconnectRun> {
  const deadline = Date.now() + load.giveUpMs
  const result: ReconnectRun = { firstAcceptedAt: Infinity, lastAdmittedAt: 0, failures: 0, resumed: 0 }
  await inParallel(load.parallel, devices, async device => {
    while (device.isOpen) await pause(RETRY_MS)
    while (Date.now() < deadline) {
      try {
        result.firstAcceptedAt = Math.min(result.firstAcceptedAt, await device.connect(target!, load.resumes))
        break
      } catch {
        if (result.firstAcceptedAt < Infinity) result.failures++
        await pause(RETRY_MS)
      }
    }
    if (device.isResumed) result.resumed++
    result.lastAdmittedAt = Date.now()
  })
  return result
}

/** Publishes events on each device, `window` events per call and one call after the other. Counts the acknowledged events. */
async function publish(load: { secs: number; devices: number; window: number }): Promise<PublishRun> {
  const run = await repeatCalls(load, device => {
    const calls = new EventCalls(device, load.window)
    return () => calls.next()
  })
  return { ...run, acknowledged: run.acknowledged * load.window }
}

/** Writes two values of a property in turn on each device, one call after the other. Counts the acknowledged writes. */
function writeProperty(load: {
  secs: number
  devices: number
  name: string
  values: [unknown, unknown]
}): Promise<PublishRun> {
  return repeatCalls(load, device => {
    const [first, second] = load.values.map(value =>
      device.prepare(
        'devices_SetProperty',
        JSON.stringify({ deviceId: device.deviceId, name: load.name, value }),
      ),
    ) as [PreparedCall, PreparedCall]
    let isFirst = false
    return () => {
      isFirst = !isFirst
      return isFirst ? first : second
    }
  })
}

/**
 * Lets each device repeat calls for `secs` seconds, one after the other, and counts the acknowledged calls. `callsOf` returns a function
 * that makes the next call of a device.
 */
async function repeatCalls(
  load: { secs: number; devices: number },
  callsOf: (device: LeanDevice) => () => PreparedCall,
): Promise<PublishRun> {
  const latencies: number[] = []
  const started = performance.now()
  const end = started + load.secs * 1000
  await Promise.all(
    devices.slice(0, load.devices).map(
      device =>
        new Promise<void>((done, failed) => {
          const nextCall = callsOf(device)
          let sent = performance.now()
          device.onEnd = failed
          device.onAnswer = envelope => {
            if (!isOk(envelope)) return failed(refusal(envelope))
            const now = performance.now()
            latencies.push(now - sent)
            if (now >= end) return done()
            sent = now
            device.send(nextCall())
          }
          device.send(nextCall())
        }),
    ),
  )
  return { acknowledged: latencies.length, secs: secondsSince(started), ...quantiles(latencies) }
}

/**
 * Publishes single events on a fixed schedule, rotating through the devices. Latency counts from the due time. Otherwise a slow
 * answer would delay later events and hide their latency.
 */
async function schedule(load: {
  secs: number
  devices: number
  perSec: number
  withLatencies?: boolean
}): Promise<PublishRun> {
  const latencies: number[] = []
  const started = performance.now()
  const total = load.secs * load.perSec
  const finished = Promise.withResolvers<void>()
  const senders = devices.slice(0, load.devices).map(device => {
    const calls = new EventCalls(device, 1)
    const due: number[] = []
    device.onEnd = error => finished.reject(error)
    device.onAnswer = envelope => {
      if (!isOk(envelope)) return finished.reject(refusal(envelope))
      latencies.push(performance.now() - due.shift()!)
      if (due.length > 0) device.send(calls.next())
      if (latencies.length === total) finished.resolve()
    }
    return {
      add(at: number): void {
        due.push(at)
        if (due.length === 1) device.send(calls.next())
      },
    }
  })
  let sent = 0
  const send = (): void => {
    const dueNow = Math.min(total, Math.floor(((performance.now() - started) / 1000) * load.perSec))
    for (; sent < dueNow; sent++) senders[sent % senders.length]!.add(started + (sent * 1000) / load.perSec)
    if (sent < total) setTimeout(send, 1)
  }
  send()
  await finished.promise
  return {
    acknowledged: latencies.length,
    secs: secondsSince(started),
    ...quantiles(latencies),
    ...(load.withLatencies && { latenciesMs: latencies }),
  }
}

/** Sets one property on all devices concurrently. Resolves when all devices have an acknowledgement. */
async function setProperty({ name }: { name: string }): Promise<{ secs: number }> {
  const started = performance.now()
  await Promise.all(
    devices.map(device =>
      device.invoke('devices_SetProperty', { deviceId: device.deviceId, name, value: { measured: 21.5 } }),
    ),
  )
  return { secs: secondsSince(started) }
}

/** Sets the properties of a simulated device (`npm run agent -- simulate`) on every device. */
async function setProfiles(): Promise<object> {
  await Promise.all(
    devices.map(async (device, index) => {
      const profile = deviceProfile('bench', index)
      const properties = {
        [PROPERTY.systemInfo]: systemInfoOf(profile, Date.now()),
        [PROPERTY.otaStatus]: otaStatusOf(profile, undefined),
        [PROPERTY.health]: { status: 'ok' },
        [PROPERTY.device]: labelOf(profile, undefined),
        [PROPERTY.appConfig]: appConfigOf(profile),
      }
      for (const [name, value] of Object.entries(properties))
        await device.invoke('devices_SetProperty', { deviceId: device.deviceId, name, value })
    }),
  )
  return {}
}

/**
 * Lets some devices publish events until the command `endLedger`, even if their connections are lost meanwhile. Unacknowledged events
 * are resent with the same id, as agents do. The ledger lists the ids of all acknowledged and unanswered events.
 */
function keepLedger({ devices: count, pauseMs, isScheduled = false }: LedgerLoad): object {
  const book = { isOver: false, ended: Promise.resolve<LedgerRun>([]) }
  book.ended = Promise.all(
    devices.slice(0, count).map(async (device, at) => {
      const first = device.eventsMade
      let calls = new EventCalls(device, 1)
      let isUnanswered = false
      // The events of a schedule are spread over its interval.
      let dueMs = performance.now() + (isScheduled ? (at * pauseMs) / count : pauseMs)
      while (!book.isOver) {
        await pause(Math.max(0, dueMs - performance.now()))
        if (!device.isReady) {
          await pause(isScheduled ? LOOK_MS : pauseMs)
          continue
        }
        if (isUnanswered) device.eventsMade--
        // Prepared frames contain the channel id of a connection. The device may have reconnected, so the frames are prepared
        // again.
        calls = calls.again()
        isUnanswered = !(await publishOnce(device, calls))
        if (!isScheduled) dueMs = performance.now() + pauseMs
        else if (!isUnanswered) dueMs += pauseMs
      }
      const known = device.eventsMade - (isUnanswered ? 1 : 0)
      return {
        deviceId: device.deviceId,
        acknowledged: calls.ids(first, known),
        unanswered: calls.ids(known, device.eventsMade),
      }
    }),
  )
  ledger = book
  return {}
}

/** Makes each device reconnect whenever its connection is lost, as agents do. */
function stay(): object {
  const book = { away: new Set<LeanDevice>(), absencesMs: [] as number[], failures: 0 }
  const comeBack = async (device: LeanDevice): Promise<void> => {
    const fromMs = performance.now()
    while (!device.isOpen) {
      await pause(Math.random() * COME_BACK_MS)
      await device.connect(target!).catch(() => void book.failures++)
    }
    book.absencesMs.push(performance.now() - fromMs)
    book.away.delete(device)
  }
  setInterval(() => {
    for (const device of devices) {
      if (device.isOpen || book.away.has(device)) continue
      book.away.add(device)
      void comeBack(device)
    }
  }, LOOK_MS)
  staying = book
  return {}
}

/** Reports how long devices were disconnected and how many reconnects failed since the last call, and how many are disconnected. */
function absences(): AbsencesRun {
  const { away, absencesMs, failures } = staying!
  const run = { absencesMs: absencesMs.splice(0).toSorted((a, b) => a - b), away: away.size, failures }
  staying!.failures = 0
  return run
}

/** Sends the next event. Returns true if the hub acknowledged it before the connection ended. */
function publishOnce(device: LeanDevice, calls: EventCalls): Promise<boolean> {
  return new Promise(done => {
    device.onEnd = () => done(false)
    device.onAnswer = envelope => done(isOk(envelope))
    device.send(calls.next())
  })
}

async function endLedger(): Promise<LedgerRun> {
  ledger!.isOver = true
  return ledger!.ended
}

async function connectEchoes({
  port,
  tls,
  count,
  parallel,
}: {
  port: number
  tls?: TlsFiles
  count: number
  parallel: number
}): Promise<ConnectRun> {
  const secureContext: SecureContext | undefined = tls && createSecureContext(tls)
  const started = performance.now()
  await inParallel(parallel, Array.from({ length: count }), async () => {
    echoes.push(await RawSocket.open({ port, ...(secureContext && { secureContext }) }, '/', ''))
  })
  return { secs: secondsSince(started) }
}

/** Sends `window` messages together on each connection, and again whenever all of them have been echoed. */
async function echo(load: { secs: number; window: number; messageBytes: number }): Promise<PublishRun> {
  const frames = Buffer.concat(
    Array.from({ length: load.window }, () => frameOf(Buffer.alloc(load.messageBytes, 'x'))),
  )
  const latencies: number[] = []
  const started = performance.now()
  const end = started + load.secs * 1000
  await Promise.all(
    echoes.map(
      socket =>
        new Promise<void>(done => {
          let missing = load.window
          let sent = performance.now()
          socket.onMessage = () => {
            if (--missing > 0) return
            const now = performance.now()
            latencies.push(now - sent)
            if (now >= end) return done()
            missing = load.window
            sent = now
            socket.write(frames)
          }
          socket.write(frames)
        }),
    ),
  )
  return {
    acknowledged: latencies.length * load.window,
    secs: secondsSince(started),
    ...quantiles(latencies),
  }
}

const OK = Buffer.from('{"result":"Ok"')

function isOk(envelope: Buffer): boolean {
  return envelope.subarray(0, OK.length).equals(OK)
}

function refusal(envelope: Buffer): Error {
  return new Error(`the hub answered ${envelope.toString().slice(0, 300)}`)
}

async function inParallel<Item>(
  parallel: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!)
  }
  await Promise.all(Array.from({ length: parallel }, worker))
}

function quantiles(latencies: number[]): { p50Ms: number; p99Ms: number } {
  const sorted = Float64Array.from(latencies).sort()
  return { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) }
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000
}
