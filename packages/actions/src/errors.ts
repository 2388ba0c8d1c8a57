/** All error kinds on the wire, each with its default HTTP status (docs/api.md 1.1). */
export const ERROR_STATUS = { Invalid: 400, Forbidden: 403, Internal: 500, RateLimited: 429 } as const

export type ErrorKind = keyof typeof ERROR_STATUS

/** A problem in an input, with the path of the field and a message. */
export type InputIssue = { path: string; message: string }

export type ActionErrorOptions = {
  /** HTTP status if it differs from the default of the kind, such as 401, 404, 409, 413 or 503. */
  status?: number
  issues?: InputIssue[]
  requestId?: string
  retryAfterSecs?: number
  cause?: unknown
}

/** Error of a failed action, thrown by the hub's handlers and by clients. */
export class ActionError extends Error {
  override readonly name = 'ActionError'
  readonly kind: ErrorKind
  readonly status: number
  readonly issues: InputIssue[] | undefined
  readonly requestId: string | undefined
  readonly retryAfterSecs: number | undefined

  constructor(kind: ErrorKind, message: string, options: ActionErrorOptions = {}) {
    // `RateLimited` errors have no stack trace, because in a flood of calls a stack trace would cost more than the refusal itself.
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
