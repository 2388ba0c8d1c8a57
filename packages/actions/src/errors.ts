/** The closed list of error kinds on the wire and the HTTP status each has unless a finer one is given (catalogue 1.1). */
export const ERROR_STATUS = { Invalid: 400, Forbidden: 403, Internal: 500, RateLimited: 429 } as const

export type ErrorKind = keyof typeof ERROR_STATUS

/** One problem of an input: where it is and what is wrong with it. */
export type InputIssue = { path: string; message: string }

export type ActionErrorOptions = {
  /** Finer HTTP status than the kind's own: 401, 404, 409, 413, 503. */
  status?: number
  issues?: InputIssue[]
  requestId?: string
  retryAfterSecs?: number
  cause?: unknown
}

/** A failed action, on either side of the wire. */
export class ActionError extends Error {
  override readonly name = 'ActionError'
  readonly kind: ErrorKind
  readonly status: number
  readonly issues: InputIssue[] | undefined
  readonly requestId: string | undefined
  readonly retryAfterSecs: number | undefined

  constructor(kind: ErrorKind, message: string, options: ActionErrorOptions = {}) {
    // Where a flood is refused is no secret, and telling it would cost more than the refusal.
    const { stackTraceLimit } = Error
    if (kind === 'RateLimited') Error.stackTraceLimit = 0
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    Error.stackTraceLimit = stackTraceLimit
    this.kind = kind
    this.status = options.status ?? ERROR_STATUS[kind]
    this.issues = options.issues
    this.requestId = options.requestId
    this.retryAfterSecs = options.retryAfterSecs
  }
}
