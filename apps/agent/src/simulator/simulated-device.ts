import type { FairLimiter } from '@muster/concurrency'
import { Backoff, RemoteActionError } from '@muster/link'
import { adviceOn, HubRefusedError } from '../refusal.ts'
import { openSession, type Session } from '../session.ts'
import type { DeviceProfile } from './device-profile.ts'
import { appConfigOf, labelOf, otaStatusOf, PROPERTY, systemInfoOf } from './device-properties.ts'
import { eventsBetween, nextEventAt } from './event-story.ts'
import type { FleetStats } from './fleet-stats.ts'
import type { Schedule } from './schedule.ts'
import { simulatedIdentity } from './simulated-identity.ts'
import type { StatusPages } from './status-pages.ts'
import {
  type Health,
  healthAt,
  nextHealthCheck,
  nextOutage,
  type Outage,
  type UpdateStep,
  updateSteps,
} from './story.ts'

/** State shared by all devices of a fleet. */
export type FleetContext = {
  hubUrl: string
  token: string
  acceptInvalidCertificates: boolean
  /** Mean time between two events of one device, in milliseconds. */
  eventIntervalMs: number
  hasOutages: boolean
  startedAtMs: number
  /** Start of the simulated past, in milliseconds since 1970. Its events are sent on the first connection. */
  historyFromMs: number
  connects: FairLimiter
  schedule: Schedule
  stats: FleetStats
  pages: StatusPages
  signal: AbortSignal
  onConnected: () => void
}

const SYSTEM_INFO_INTERVAL_MS = 30 * 60 * 1000
const MAX_EVENTS_PER_CALL = 50

/** A simulated device. It connects, publishes properties and events, simulates outages, and reconnects. */
export class SimulatedDevice {
  readonly profile: DeviceProfile
  readonly #fleet: FleetContext
  readonly #backoff = new Backoff()
  readonly #updates: readonly UpdateStep[]
  #eventsSentTo: number
  #update: UpdateStep | undefined
  #health: Health | undefined
  #systemInfoAt = 0
  #hasConnected = false
  #retryAfterMs: number | undefined
  #wake: (() => void) | undefined
  #session: Session | undefined

  constructor(profile: DeviceProfile, fleet: FleetContext) {
    this.profile = profile
    this.#fleet = fleet
    this.#eventsSentTo = fleet.historyFromMs
    this.#updates = updateSteps(profile)
  }

  /** Runs until the fleet's signal is aborted. The caller then calls `stop()`, which ends a wait that has begun. Never rejects. */
  async run(): Promise<void> {
    while (!this.#fleet.signal.aborted) {
      const session = await this.#fleet.connects.run(() => this.#connect())
      const awayUntilMs = session ? await this.#live(session) : undefined
      if (this.#fleet.signal.aborted) return
      const resumeAtMs = awayUntilMs ?? Date.now() + this.#backoff.nextDelayMs(this.#retryAfterMs)
      await this.#sleepUntil(resumeAtMs)
    }
  }

  /** Closes the connection and ends every wait. */
  stop(): void {
    this.#session?.link.close('the simulator is stopping')
    this.#wake?.()
  }

  async #connect(): Promise<Session | undefined> {
    const { hubUrl, token, acceptInvalidCertificates, signal, stats, pages } = this.#fleet
    this.#retryAfterMs = undefined
    if (signal.aborted) return undefined
    try {
      const { fingerprint, certificate } = simulatedIdentity(this.profile.seed, this.profile.index)
      const session = await openSession(
        { hubUrl, token, fingerprint, certificate, acceptInvalidCertificates },
        {
          isRegistered: true,
          onRequest: request => pages.handle(request, this.profile),
          onReturnBound: returnWithinMs => this.#backoff.returnWithin(returnWithinMs),
          signal,
        },
      )
      stats.connects++
      return session
    } catch (error) {
      if (signal.aborted) return undefined
      if (error instanceof HubRefusedError) {
        stats.refused++
        if (error.status !== 503) this.#backoff.refused()
        this.#retryAfterMs = error.retryAfterMs
      } else {
        stats.failed++
      }
      stats.lastProblem = adviceOn(error)
      return undefined
    }
  }

  /** Runs one connection from start to end. Returns the time to reconnect if a simulated outage ended the connection. */
  async #live(session: Session): Promise<number | undefined> {
    const { stats } = this.#fleet
    const since = Date.now()
    this.#session = session
    this.#systemInfoAt = 0
    this.#health = undefined
    stats.connected++
    if (!this.#hasConnected) {
      this.#hasConnected = true
      stats.everConnected++
    }
    this.#fleet.onConnected()
    void session.link.ended.then(() => this.#wake?.())
    const failure = await this.#publishUntilOutage(session).catch(adviceOn)
    const outage = typeof failure === 'string' ? undefined : failure
    if (outage) {
      stats.outages++
    } else if (!this.#fleet.signal.aborted) {
      stats.lost++
      const { end } = session.link
      if (end) stats.lastProblem = `a connection ended: ${end.kind} ${end.reason}`.trim()
      else if (typeof failure === 'string') stats.lastProblem = failure
    }
    if (outage?.isAbrupt) session.drop()
    else session.link.close(outage ? 'going away for a while' : '')
    await session.link.ended
    this.#session = undefined
    stats.connected--
    this.#backoff.endedAfter(Date.now() - since)
    return outage?.endMs
  }

  /**
   * Publishes changes and events until the connection ends or the next outage begins. Returns the outage, or undefined if the
   * connection ended first.
   */
  async #publishUntilOutage(session: Session): Promise<Outage | undefined> {
    const { signal } = this.#fleet
    let outage = this.#nextOutage()
    await this.#publishIdentity(session)
    while (session.link.isOpen && !signal.aborted) {
      const update = await this.#publishUpdate(session)
      if (update?.state === 'rebooting') outage = this.#rebootOutage(outage)
      if (outage && Date.now() >= outage.startMs) return outage
      await this.#publishSystemInfo(session)
      await this.#publishHealth(session)
      await this.#sendEvents(session)
      if (session.link.isOpen) await this.#sleepUntil(this.#nextChangeAt(outage))
    }
    return undefined
  }

  async #publishIdentity(session: Session): Promise<void> {
    await this.#set(session, PROPERTY.device, labelOf(this.profile, this.#update))
    await this.#set(session, PROPERTY.appConfig, appConfigOf(this.profile))
    await this.#set(session, PROPERTY.otaStatus, otaStatusOf(this.profile, this.#update))
  }

  /** Publishes the current step of the simulated update if it has not been published yet. Returns the step in this case. */
  async #publishUpdate(session: Session): Promise<UpdateStep | undefined> {
    const due = this.#updates.findLast(step => this.#fleet.startedAtMs + step.offsetMs <= Date.now())
    if (!due || due === this.#update) return undefined
    this.#update = due
    await this.#set(session, PROPERTY.otaStatus, otaStatusOf(this.profile, due))
    if (due.state === 'completed') await this.#set(session, PROPERTY.device, labelOf(this.profile, due))
    return due
  }

  async #publishSystemInfo(session: Session): Promise<void> {
    if (Date.now() < this.#systemInfoAt) return
    await this.#set(session, PROPERTY.systemInfo, systemInfoOf(this.profile, Date.now()))
    this.#systemInfoAt = Date.now() + SYSTEM_INFO_INTERVAL_MS
  }

  async #publishHealth(session: Session): Promise<void> {
    const health = healthAt(this.profile, Date.now())
    if (health === this.#health) return
    await this.#set(session, PROPERTY.health, { status: health })
    this.#health = health
  }

  /** Sends all unsent events, including events from times without a connection. Events that the hub rejects are not resent. */
  async #sendEvents({ executor, deviceId, link }: Session): Promise<void> {
    const { eventIntervalMs, stats } = this.#fleet
    const until = Date.now()
    const due = eventsBetween(this.profile, eventIntervalMs, this.#eventsSentTo, until)
    for (let at = 0; at < due.length; at += MAX_EVENTS_PER_CALL) {
      if (!link.isOpen) return
      const events = due.slice(at, at + MAX_EVENTS_PER_CALL)
      const isTaken = await this.#invoke(executor, 'devices_PublishEvents', { deviceId, events })
      if (isTaken) stats.events += events.length
      const next = due[at + MAX_EVENTS_PER_CALL]
      if (next) this.#eventsSentTo = Date.parse(next.emittedAt)
    }
    this.#eventsSentTo = until
  }

  async #set({ executor, deviceId }: Session, name: string, value: unknown): Promise<void> {
    const isTaken = await this.#invoke(executor, 'devices_SetProperty', { deviceId, name, value })
    if (isTaken) this.#fleet.stats.properties++
  }

  /** Runs an action. If the hub answers with an error, counts the error and returns false. Throws all other failures. */
  async #invoke(executor: Session['executor'], action: string, input: object): Promise<boolean> {
    try {
      await executor.invoke(action, input)
      return true
    } catch (error) {
      if (!(error instanceof RemoteActionError)) throw error
      this.#fleet.stats.actionErrors++
      this.#fleet.stats.lastProblem = `${action}: ${error.message}`
      return false
    }
  }

  #nextOutage(): Outage | undefined {
    return this.#fleet.hasOutages ? nextOutage(this.profile, Date.now()) : undefined
  }

  /**
   * Returns the outage of a reboot, which lasts until the next step of the update. Returns `otherwise` if outages are disabled or
   * the update has no next step.
   */
  #rebootOutage(otherwise: Outage | undefined): Outage | undefined {
    const next = this.#updates[this.#updates.indexOf(this.#update!) + 1]
    if (!this.#fleet.hasOutages || !next) return otherwise
    return { startMs: Date.now(), endMs: this.#fleet.startedAtMs + next.offsetMs, isAbrupt: false }
  }

  #nextChangeAt(outage: Outage | undefined): number {
    const now = Date.now()
    const nextUpdate = this.#updates.find(step => this.#fleet.startedAtMs + step.offsetMs > now)
    return Math.min(
      outage?.startMs ?? Number.POSITIVE_INFINITY,
      nextUpdate ? this.#fleet.startedAtMs + nextUpdate.offsetMs : Number.POSITIVE_INFINITY,
      this.#systemInfoAt,
      nextHealthCheck(now),
      nextEventAt(this.profile, this.#fleet.eventIntervalMs, this.#eventsSentTo),
    )
  }

  /** Waits until a time, until `stop()`, or until the connection ends. */
  async #sleepUntil(atMs: number): Promise<void> {
    if (this.#fleet.signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const cancel = this.#fleet.schedule.at(atMs, resolve)
    await promise
    cancel()
    this.#wake = undefined
  }
}
