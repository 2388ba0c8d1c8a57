import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ActionError } from '@muster/actions'
import { FairLimiter, LimiterRejection } from '@muster/concurrency'
import type { Config } from '../config/config.ts'
import type { PersonCaller } from '../pipeline/caller.ts'
import {
  descriptorsForConnections,
  descriptorsForDevices,
  processDescriptors,
} from '../runtime/descriptors.ts'
import type { Logger } from '../runtime/log.ts'
import { AddressShares } from './address-shares.ts'
import { add, subtract } from './counts.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitReports } from './limit-reports.ts'
import type { LimitValues } from './limits.ts'
import { type DeviceOwner, LinkShares, RETRY_AFTER_SECS } from './link-shares.ts'

/** A response or socket whose close ends a connection. */
type Closing = { once(event: 'close', listener: () => void): unknown }

type PersonLimit = 'person-links' | 'person-streams' | 'person-page-requests'

/** Advice in the error of each limit per person. */
const REMEDIES: Record<PersonLimit, string> = {
  'person-links': 'Close links of command lines that are not used any more.',
  'person-streams': 'Close consoles in other browsers, or wait until exports have ended.',
  'person-page-requests': 'Close pages of devices, or wait until they have loaded.',
}

/** Maximum number of uploads and checks of uploaded files on a node. Each holds a few MiB of memory. */
const MAX_UPLOADS = 32
/** Share of the uploads that other people leave free, which a person may run. So two people do not take all of them. */
const MAX_SHARE_OF_UPLOADS = 0.5
/** Time after which a refused upload should be tried again, in seconds. */
const UPLOAD_RETRY_AFTER_SECS = 5

type SharesOptions = {
  config: Pick<Config, 'limits' | 'maxDescriptors' | 'trustedProxies' | 'proxySecret' | 'countsLoopback'>
  log: Logger
}

/**
 * Decides what one address, person, device and organization may hold of the connections and file descriptors of this node. Each entry
 * point asks here: the HTTP listeners, the live stream, exports, uploads, links of devices and command lines, and the proxy of device
 * pages. The counts are in memory, and each node has its own.
 */
export class Shares implements Disposable {
  readonly #values: LimitValues
  readonly #links: LinkShares
  readonly #addresses: AddressShares
  readonly #people: Record<PersonLimit, Map<string, number>> = {
    'person-links': new Map(),
    'person-streams': new Map(),
    'person-page-requests': new Map(),
  }
  readonly #uploads: FairLimiter
  #reports: LimitReports | undefined

  constructor({ config, log }: SharesOptions) {
    const maxDescriptors = config.maxDescriptors ?? processDescriptors()
    this.#values = config.limits
    this.#links = new LinkShares({ capacity: descriptorsForDevices(maxDescriptors), values: config.limits })
    this.#uploads = new FairLimiter({
      max: MAX_UPLOADS,
      maxPerOwner: config.limits['person-uploads'],
      maxShareOfFree: MAX_SHARE_OF_UPLOADS,
      maxWaiting: 0,
    })
    this.#addresses = new AddressShares({
      config,
      maxDescriptors,
      maxConnections: descriptorsForConnections(maxDescriptors),
      heldByLinks: () => this.#links.heldCount,
      reports: () => this.#reports,
      log,
    })
  }

  /** Reports limits to operators from now on. Before the database is open, limits hold and are not reported. */
  reportTo(reports: LimitReports): void {
    this.#reports = reports
  }

  /** Counts the HTTP connections of a server for their addresses. The server calls the returned function for each request. */
  watch(server: Server): ReturnType<AddressShares['watch']> {
    return this.#addresses.watch(server)
  }

  /**
   * True when links hold all descriptors that they may hold. The other descriptors are reserved for people and health checks.
   */
  get isFull(): boolean {
    return this.#links.heldCount >= this.#links.capacity
  }

  /** Number of file descriptors that links may hold. */
  get linkCapacity(): number {
    return this.#links.capacity
  }

  /** Counts the socket of an upgrade request for a link until it closes, whether it is admitted or not. */
  holdLink(socket: Socket): void {
    this.#links.hold(socket)
  }

  /** Number of unregistered links of a device on this node. */
  linksOfDevice(deviceId: string): number {
    return this.#links.countOf(deviceId)
  }

  /**
   * Takes a slot for an unregistered link of a device until its socket closes. Waits while the share of its organization is used up.
   * Throws `LimitReached`.
   */
  takeDeviceLink(owner: DeviceOwner, socket: Socket): Promise<void> {
    return this.#links.takeOfDevice(owner, socket)
  }

  /** Counts the registered link of a device for its organization until its socket closes. Throws `LimitReached`. */
  takeRegisteredLink(owner: DeviceOwner, socket: Socket): void {
    this.#links.takeRegistered(owner, socket)
  }

  /** Counts a link of a command line for its person and address until its socket closes. Throws `LimitReached`. */
  takePersonLink(person: PersonCaller, address: string, socket: Socket): void {
    this.#takeOfPerson('person-links', person, socket)
    const warns = person.actor === 'UserToken' && person.predatesShares
    this.#links.takeOfPerson(person.userId, socket, warns ? reached => this.#warn(reached) : undefined)
    this.#addresses.take(address, socket)
  }

  /** Counts a file that is sent to an address until its response closes. Throws `LimitReached`, or `Internal` (503) if no descriptors are free. */
  takeFile(address: string, response: ServerResponse): void {
    this.#reported(() => this.#addresses.takeFile(address, response))
  }

  /** Counts a live stream or an export for its person until its response closes. Throws `LimitReached`. */
  takeStream(person: PersonCaller, response: Closing): void {
    this.#reported(() => this.#takeOfPerson('person-streams', person, response))
  }

  /** Counts a request or WebSocket to a web page of a device for its person until it closes. Throws `LimitReached`. */
  takePageRequest(userId: string, over: Closing): void {
    this.#reported(() => this.#takeOfPerson('person-page-requests', { userId }, over))
  }

  /**
   * Runs an upload, or a check of an uploaded file, of a person. Uploads by URLs without a person, of an older release, count together as
   * those of one. A person runs at most half of the uploads that others leave free, and always one. Throws `LimitReached`, or `RateLimited`
   * if all people together run too many.
   */
  async runUpload<Result>(userId: string | undefined, upload: () => Promise<Result>): Promise<Result> {
    const owner = userId ?? ''
    try {
      return await this.#uploads.run(upload, { owner })
    } catch (error) {
      if (!(error instanceof LimiterRejection)) throw error
      const max = this.#uploads.maxOf(owner)
      const found = this.#uploads.runningOf(owner) + 1
      if (userId === undefined || found <= max)
        throw new ActionError(
          'RateLimited',
          `The hub takes ${MAX_UPLOADS} uploads at once: try again later.`,
          {
            retryAfterSecs: UPLOAD_RETRY_AFTER_SECS,
          },
        )
      throw new LimitReached({
        limit: 'person-uploads',
        subject: { userId },
        max,
        found,
        remedy:
          max < this.#values['person-uploads']
            ? 'Other people run uploads, and half of the others are for one person: wait until some have ended.'
            : 'Wait until other uploads have ended.',
        retryAfterSecs: UPLOAD_RETRY_AFTER_SECS,
      })
    }
  }

  /** Reports an error to operators if it is a reached limit. The pipeline does this itself for actions. */
  report(error: unknown): void {
    if (error instanceof LimitReached) this.#reports?.add(error.limit, error.subject, error.message)
  }

  /** Numbers of connections that this node holds, in all and by the holder with the most, for metrics. */
  held(): {
    links: number
    http: number
    most: Record<'address' | 'device' | 'organization' | 'person', number>
  } {
    const { byDevice, byOwner, registered } = this.#links.counts
    const ofPeople = new Map<string, number>()
    for (const counts of Object.values(this.#people))
      for (const [userId, count] of counts) ofPeople.set(userId, (ofPeople.get(userId) ?? 0) + count)
    const ofOrganizations = new Map(registered)
    for (const [id, count] of byOwner)
      if (!this.#people['person-links'].has(id))
        ofOrganizations.set(id, (ofOrganizations.get(id) ?? 0) + count)
    return {
      links: this.#links.heldCount,
      http: this.#addresses.openCount,
      most: {
        address: this.#addresses.mostOfAddress,
        device: largest(byDevice.values()),
        organization: largest(ofOrganizations.values()),
        person: largest(ofPeople.values()),
      },
    }
  }

  /** Refuses the links that wait. */
  [Symbol.dispose](): void {
    this.#links[Symbol.dispose]()
  }

  /** Reports a limit that `take` reaches. The gateway reports those of links together with its other refusals. */
  #reported(take: () => void): void {
    try {
      take()
    } catch (error) {
      this.report(error)
      throw error
    }
  }

  /** Reports a limit that a token from before the limit exceeds. */
  #warn({ limit, subject, message }: LimitReached): void {
    this.#reports?.add(limit, subject, `${message} The next release refuses this.`)
  }

  #takeOfPerson(
    limit: PersonLimit,
    { userId, predatesShares = false }: { userId: string; predatesShares?: boolean },
    over: Closing,
  ): void {
    const counts = this.#people[limit]
    const found = (counts.get(userId) ?? 0) + 1
    const max = this.#values[limit]
    if (found > max) {
      const reached = { limit, subject: { userId }, max, found, retryAfterSecs: RETRY_AFTER_SECS }
      if (!predatesShares) throw new LimitReached({ ...reached, remedy: REMEDIES[limit] })
      this.#warn(new LimitReached({ ...reached, remedy: REMEDIES[limit] }))
    }
    add(counts, userId)
    over.once('close', () => subtract(counts, userId))
  }
}

function largest(counts: Iterable<number>): number {
  let most = 0
  for (const count of counts) if (count > most) most = count
  return most
}
