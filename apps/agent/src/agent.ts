import { publicIdOf } from '@muster/actions/client'
import { Backoff, isGoAway, type LinkEnd, LinkEndedError, RemoteActionError } from '@muster/link'
import { proveRenewal } from '@muster/link/certificate-renewal'
import { ProxyError, proxyName } from '@muster/link/site-proxy'
import { certificateFingerprint, hasExpired, readDeviceCertificate } from './certificate.ts'
import { type Clock, systemClock } from './clock.ts'
import type { AgentConfig } from './config.ts'
import { withDeadline } from './deadline.ts'
import { codeOf, describeError } from './describe-error.ts'
import { EventQueue } from './event-queue.ts'
import { ForwardService } from './forward.ts'
import type { HubCredentials } from './hub-connection.ts'
import { loadCredentials } from './identity.ts'
import { type Log, silentLog } from './log.ts'
import { nextCertificate } from './next-certificate.ts'
import { DeviceWork } from './operations/device-work.ts'
import { WorkLedger } from './operations/work-ledger.ts'
import { QueueSender } from './queued-events.ts'
import { adviceOn, HubRefusedError } from './refusal.ts'
import { openSession, type Session } from './session.ts'
import { readSystemInfo, SYSTEM_INFO_PROPERTY } from './system-info.ts'
import { trustRenewedAuthorities } from './trust.ts'

export type RunAgentOptions = AgentConfig & {
  /** Stops the agent when aborted. */
  signal: AbortSignal
  log?: Log
  clock?: Clock
  /** Random number from 0 (inclusive) to 1 (exclusive) that varies the pauses between connection attempts. */
  random?: () => number
  /** Called each time the hub accepts this device. */
  onConnected?: (device: { deviceId: string }) => void
  /** Called each time a connection ends or fails, with the delay before the next attempt. */
  onDisconnected?: (cause: { reason: string; delayMs: number }) => void
}

const SYSTEM_INFO_INTERVAL_MS = 30 * 60 * 1000
/** One-shot commands may put events into the queue while the agent is connected, for example when the hub is short of disk space. */
const QUEUE_INTERVAL_MS = 60 * 1000
/**
 * Pause after an error of the file system. If sent events cannot be removed, sending them again each minute would only be a load.
 */
const FILE_ERROR_PAUSE_MS = 30 * 60 * 1000
/** Interval at which the agent looks for a renewed certificate, in milliseconds. Commands that are started meanwhile may show it already. */
const CERTIFICATE_INTERVAL_MS = 60 * 1000
/** Pause after an announcement that the hub did not accept, in milliseconds. It accepts one certificate a day. */
const REFUSED_ANNOUNCEMENT_PAUSE_MS = 3600 * 1000
const CLOSE_TIMEOUT_MS = 3000
/** Matches the error codes of an untrusted hub certificate, for example `SELF_SIGNED_CERT_IN_CHAIN`. */
const UNTRUSTED = /CERT|SIGNATURE/

/**
 * Runs the agent until the signal is aborted: connects, publishes the system information, accepts port forwarding by the hub, and
 * reconnects whenever the connection ends (docs/protocol.md 3.7, 13). Rejects only with `ConfigError`, before the first connection.
 */
export async function runAgent(options: RunAgentOptions): Promise<void> {
  const credentials = await loadCredentials(options, options.signal)
  await new Agent(options, credentials).run()
}

class Agent {
  readonly #options: RunAgentOptions
  #credentials: HubCredentials
  /** Fingerprint of the last certificate that the hub did not let this device announce. */
  #refusedFingerprint: string | undefined
  readonly #log: Log
  readonly #clock: Clock
  readonly #backoff: Backoff
  readonly #forwards: ForwardService
  readonly #queue: QueueSender
  readonly #work: DeviceWork

  constructor(options: RunAgentOptions, credentials: HubCredentials) {
    this.#options = options
    this.#credentials = credentials
    this.#log = options.log ?? silentLog
    this.#clock = options.clock ?? systemClock
    this.#backoff = new Backoff(options.random && { random: options.random })
    this.#forwards = new ForwardService({ log: this.#log })
    const queue = new EventQueue(options.dataDir, options.hubUrl, options.eventQueue)
    this.#queue = new QueueSender(queue, this.#log)
    this.#work = new DeviceWork({
      operations: options.operations,
      commandsFolder: options.commandsFolder,
      ledger: new WorkLedger(options.dataDir, options.hubUrl),
      log: this.#log,
      clock: this.#clock,
    })
  }

  async run(): Promise<void> {
    const { signal, hubUrl } = this.#options
    const { fingerprint, certificate } = this.#credentials
    this.#log.info(
      `device fingerprint ${publicIdOf(fingerprint)}, certificate ${certificateFingerprint(certificate.certificatePem)}`,
    )
    const { proxy } = this.#credentials
    this.#log.info(`connecting to ${hubUrl}${proxy ? ` through ${proxyName(proxy)}` : ''}`)
    while (!signal.aborted) {
      const failure = await this.#connectOnce()
      if (signal.aborted) break
      const refusal = failure instanceof HubRefusedError ? failure : undefined
      // A hub answers 503 while it starts.
      if (refusal && refusal.status !== 503) this.#backoff.refused()
      const delayMs = this.#backoff.nextDelayMs(refusal?.retryAfterMs)
      this.#log.warn(`${adviceOn(failure)}; next attempt in ${(delayMs / 1000).toFixed(1)} s`)
      this.#options.onDisconnected?.({ reason: describeError(failure), delayMs })
      await this.#clock.sleep(delayMs, signal).catch(() => {})
      if (!signal.aborted) await this.#takeRenewed(failure)
    }
    await this.#work.stop()
    this.#log.info('stopped')
  }

  /**
   * Loads files that may have been renewed on the disk: the device's certificate and, if the hub's certificate was not trusted in the last
   * attempt, the system's certificate authorities. Operators can thus renew them without a restart of the agent. Unusable files cause only
   * a warning. A certificate that the next connection can still announce is not used yet, because the hub would make it wait for a person.
   */
  async #takeRenewed(failure: unknown): Promise<void> {
    const { certificatePath, keyPath, acceptInvalidCertificates } = this.#options
    try {
      const certificate = await readDeviceCertificate(certificatePath, keyPath)
      const fingerprint = certificateFingerprint(certificate.certificatePem)
      const current = this.#credentials.certificate
      const mayAnnounce =
        fingerprint !== this.#refusedFingerprint && !isCertificateRefused(failure) && !hasExpired(current)
      if (certificate.certificatePem !== current.certificatePem && !mayAnnounce) {
        this.#credentials = { ...this.#credentials, certificate }
        this.#log.info(`renewed certificate ${fingerprint}`)
      }
      const isUntrusted = causesOf(failure).some(cause => UNTRUSTED.test(codeOf(cause) ?? ''))
      if (!acceptInvalidCertificates && isUntrusted) await trustRenewedAuthorities()
    } catch (error) {
      this.#log.warn(`renewed certificates not loaded: ${describeError(error)}`)
    }
  }

  /** Runs one connection from start to end. Returns the reason why it ended or could not be opened. */
  async #connectOnce(): Promise<unknown> {
    const { signal, onConnected } = this.#options
    try {
      const session = await openSession(this.#credentials, {
        isRegistered: true,
        onRequest: request => this.#forwards.handle(request),
        onReturnBound: returnWithinMs => this.#backoff.returnWithin(returnWithinMs),
        onProxyFailure: ({ message }) => this.#log.warn(`${message}; connecting directly`),
        signal,
      })
      const since = this.#clock.elapsed()
      this.#log.info(`connected as ${session.deviceId}`)
      onConnected?.({ deviceId: session.deviceId })
      const end = await this.#serve(session)
      if (end.kind === 'PeerClose' && isGoAway(end.reason)) this.#backoff.askedToReturn()
      else this.#backoff.endedAfter(this.#clock.elapsed() - since)
      return new Error(connectionEnd(end))
    } catch (error) {
      return error instanceof LinkEndedError ? new Error(connectionEnd(error.end)) : error
    }
  }

  async #serve(session: Session): Promise<LinkEnd> {
    const { link } = session
    const { signal, publishSystemInfo } = this.#options
    const over = new AbortController()
    const close = () => link.close('the agent is stopping')
    signal.addEventListener('abort', close, { once: true })
    if (signal.aborted) close()
    const publishing = Promise.all([
      publishSystemInfo && this.#publishSystemInfo(session, over.signal),
      this.#sendQueue(session, over.signal),
      this.#announceCertificates(session, over.signal),
      this.#work.serve(session, over.signal),
    ])
    const end = await link.ended
    signal.removeEventListener('abort', close)
    over.abort()
    await withDeadline(publishing, CLOSE_TIMEOUT_MS, 'the last action').catch(error =>
      this.#log.debug(describeError(error)),
    )
    return end
  }

  async #sendQueue(session: Session, over: AbortSignal): Promise<void> {
    let reported = ''
    while (!over.aborted) {
      let pauseMs = QUEUE_INTERVAL_MS
      try {
        await this.#queue.send(session)
        reported = ''
      } catch (error) {
        const reason = describeError(error)
        if (!over.aborted && reason !== reported) this.#log.warn(`queued events not sent: ${reason}`)
        reported = reason
        // Only errors of the file system have a code here.
        if (codeOf(error) !== undefined) pauseMs = FILE_ERROR_PAUSE_MS
      }
      await this.#clock.sleep(pauseMs, over).catch(() => {})
    }
  }

  /**
   * Announces a renewed certificate to the hub, signed with the keys of both (docs/protocol.md 1.8). The next connection then uses it. If
   * the hub refuses it, a person has to accept it there.
   */
  async #announceCertificates(session: Session, over: AbortSignal): Promise<void> {
    let reported = ''
    while (!over.aborted) {
      let pauseMs = CERTIFICATE_INTERVAL_MS
      try {
        await this.#announceCertificate(session)
        reported = ''
      } catch (error) {
        const reason = describeError(error)
        if (!over.aborted && reason !== reported) this.#log.warn(`next certificate not announced: ${reason}`)
        reported = reason
        if (error instanceof RemoteActionError) pauseMs = REFUSED_ANNOUNCEMENT_PAUSE_MS
      }
      await this.#clock.sleep(pauseMs, over).catch(() => {})
    }
  }

  async #announceCertificate({ deviceId, executor }: Session): Promise<void> {
    const { certificate: current } = this.#credentials
    const next = await nextCertificate(current, this.#options)
    if (!next) return
    const { certificate, store } = next
    const fingerprint = certificateFingerprint(certificate.certificatePem)
    try {
      const renewal = proveRenewal(deviceId, current, certificate)
      await executor.invoke('devices_AddCertificate', { deviceId, fingerprint, renewal })
    } catch (error) {
      // After a failure that may pass, such as a second certificate within a day, it is announced again.
      const isFinal = error instanceof RemoteActionError ? !error.shouldRetry() : error instanceof TypeError
      if (isFinal) this.#refusedFingerprint = fingerprint
      throw error
    }
    await store()
    this.#credentials = { ...this.#credentials, certificate }
    this.#log.info(`announced the next certificate ${fingerprint}, which the next connection uses`)
  }

  async #publishSystemInfo({ deviceId, link, executor }: Session, over: AbortSignal): Promise<void> {
    const { exports, hostname } = this.#options
    while (!over.aborted) {
      try {
        const value = await readSystemInfo(exports, hostname)
        const input = { deviceId, name: SYSTEM_INFO_PROPERTY, value }
        await executor.invoke('devices_SetProperty', input)
        this.#log.debug('system information published')
      } catch (error) {
        if (!over.aborted) this.#log.warn(`system information not published: ${describeError(error)}`)
        // If the hub refused the action, the connection is still useful: port forwarding works, and the hub may accept the next
        // system information. Any other error means that the channel for actions is broken, so the link is closed and the agent reconnects.
        if (!(error instanceof RemoteActionError)) link.close('the executor channel failed')
      }
      await this.#clock.sleep(SYSTEM_INFO_INTERVAL_MS, over).catch(() => {})
    }
  }
}

/** Whether the hub refused the connection for its credentials, and not because it is busy. */
function isCertificateRefused(failure: unknown): boolean {
  return causesOf(failure).some(cause => cause instanceof HubRefusedError && cause.status === 403)
}

/** The failures of the connection through a proxy and of the direct one, or the only one. */
function causesOf(failure: unknown): readonly unknown[] {
  return failure instanceof ProxyError ? failure.causes : [failure]
}

function connectionEnd({ kind, reason }: LinkEnd): string {
  switch (kind) {
    case 'PeerClose':
      return `the hub ended the connection${reason === '' ? '' : `: ${reason}`}`
    case 'TransportClosed':
      return `the connection was lost${reason === '' ? '' : ` (${reason})`}`
    case 'Timeout':
      return `the hub does not answer (${reason})`
    case 'Violation':
      return `the hub broke the protocol (${reason})`
    case 'ConsumerTooSlow':
      return `the hub takes data too slowly (${reason})`
    case 'LocalClose':
      return `the connection was closed (${reason})`
  }
}
