import { ActionError, type ErrorKind } from '@muster/actions'
import { LimiterRejection } from '@muster/concurrency'
import type { LimitReached } from '../../platform/limits/limit-reached.ts'

/** Reason why a connection of a device or a command-line client was refused, for logs and metrics. */
export type RefusalReason =
  | 'address_rate'
  | 'certificate_expired'
  | 'certificate_invalid'
  | 'certificate_missing'
  | 'certificate_pending'
  | 'certificate_rejected'
  | 'certificate_revoked'
  | 'descriptors'
  | 'device_blocked'
  | 'disconnected'
  | 'fingerprint'
  | 'internal'
  | 'limit'
  | 'malformed'
  | 'overload'
  | 'stopping'
  | 'token_expired'
  | 'token_invalid'

/** Token, device, organization and project that a refusal concerns, as far as they are known. */
export type RefusalSubject = {
  tokenId?: string
  deviceId?: string
  place?: { organizationId: string; projectId: string }
}

/** A refused connection: status and reason for the client, and the ids that the log and the console show. */
export class Refusal extends ActionError {
  readonly reason: RefusalReason
  readonly tokenId: string | undefined
  readonly deviceId: string | undefined
  readonly place: RefusalSubject['place']
  /** The limit that the connection would exceed, for the report to operators. */
  readonly limit: LimitReached | undefined

  constructor(
    reason: RefusalReason,
    status: number,
    kind: ErrorKind,
    message: string,
    about: RefusalSubject & { limit?: LimitReached } = {},
  ) {
    const retryAfterSecs = about.limit?.retryAfterSecs
    super(kind, message, { status, ...(retryAfterSecs !== undefined && { retryAfterSecs }) })
    this.reason = reason
    this.tokenId = about.tokenId
    this.deviceId = about.deviceId
    this.place = about.place
    this.limit = about.limit
  }

  /** Creates a refusal from a reached limit, with its status and text. */
  static of(limit: LimitReached, about: RefusalSubject): Refusal {
    return new Refusal('limit', limit.status, limit.kind, limit.message, { ...about, limit })
  }
}

/** Converts the error of a limiter whose queue is full or too slow into a refusal with 503. Rethrows any other error. */
export function refuseWhenCrowded(error: unknown): never {
  throw error instanceof LimiterRejection ? crowded() : error
}

/** Refusal of a device because too many others wait. */
export function crowded(): Refusal {
  return new Refusal('overload', 503, 'Internal', 'too many devices connect at once')
}
