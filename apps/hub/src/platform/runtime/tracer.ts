/** Span of the caller of a request, from the header `traceparent` (W3C Trace Context). */
export type TraceParent = { traceId: string; spanId: string; isSampled: boolean }

/** Span of an HTTP request. */
export type RequestSpan = {
  readonly traceId: string
  /** Runs work whose actions and statements belong to the request. */
  run(work: () => void): void
  /** Ends the span. `route` is the pattern of the route, because URLs may hold secrets. */
  end(facts: { method: string; route: string | undefined; status: number; requestId: string }): void
}

/**
 * Records requests, actions and database statements as spans for an OpenTelemetry collector. It exists only with `MUSTER_TRACES_URL`;
 * otherwise nothing is recorded and no module of OpenTelemetry is loaded.
 */
export type Tracer = AsyncDisposable & {
  /** Begins the span of a request, in the trace of its parent or in a new one. */
  request(parent: TraceParent | undefined): RequestSpan
  /** Runs an action in a span: within the request that is being run, else in a new trace. */
  action<Result>(name: string, actor: string, run: () => Promise<Result>): Promise<Result>
  /** Begins the span of a statement within the running action or request; undefined without one. The returned function ends it. */
  statement(text: string): ((error?: unknown) => void) | undefined
}
