import { AsyncLocalStorage } from 'node:async_hooks'
import { ActionError, findAction } from '@muster/actions'
import { VERSION } from '@muster/actions/version'
import { waitUpTo } from '@muster/concurrency'
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { shortStatement } from '../database/client/slow-statements.ts'
import type { Logger } from '../runtime/log.ts'
import type { Tracer } from '../runtime/tracer.ts'

/** Maximum number of spans that wait for the collector. Further spans are dropped. */
const MAX_WAITING = 4096
/** Interval of the exports, in milliseconds. */
const EXPORT_MS = 1_000
/** Deadline of an export, in milliseconds. */
const TIMEOUT_MS = 5_000
/** Time for the last export when the hub stops, in milliseconds. */
const STOP_MS = 2_000

type OtlpTracerOptions = {
  /** URL to which spans are sent: OTLP over HTTP, as JSON. */
  url: string
  /** Headers of each export. */
  headers: Record<string, string> | undefined
  /** Share of the traces that begin at this hub and are recorded, in percent. */
  percent: number
  nodeName: string
  log: Logger
}

/**
 * Creates the tracer. A trace that a trusted proxy began is recorded if the proxy records it. While the collector is out of reach, spans
 * are dropped and nothing else is affected.
 */
export function createOtlpTracer({ url, headers = {}, percent, nodeName, log }: OtlpTracerOptions): Tracer {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'muster',
      'service.version': VERSION,
      'service.instance.id': nodeName,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(percent / 100) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reported(new OTLPTraceExporter({ url, headers, timeoutMillis: TIMEOUT_MS }), log),
        maxQueueSize: MAX_WAITING,
        scheduledDelayMillis: EXPORT_MS,
        exportTimeoutMillis: TIMEOUT_MS,
      }),
    ],
  })
  const tracer = provider.getTracer('muster', VERSION)
  /** Span of the request or action that is being run. */
  const running = new AsyncLocalStorage<Span>()
  const start = (name: string, kind: SpanKind, parent: Span | undefined): Span =>
    tracer.startSpan(name, { kind }, parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT)

  return {
    request(parent) {
      const caller =
        parent &&
        trace.wrapSpanContext({
          traceId: parent.traceId,
          spanId: parent.spanId,
          traceFlags: parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
          isRemote: true,
        })
      const span = start('request', SpanKind.SERVER, caller)
      return {
        traceId: span.spanContext().traceId,
        run: work => running.run(span, work),
        end({ method, route, status, requestId }) {
          span.updateName(route === undefined ? method : `${method} ${route}`)
          span.setAttributes({
            'http.request.method': method,
            ...(route !== undefined && { 'http.route': route }),
            'http.response.status_code': status,
            'muster.request_id': requestId,
          })
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    async action(name, actor, run) {
      const parent = running.getStore()
      // Callers choose the name, so the names of unknown actions must not become names of spans.
      const known = findAction(name)?.name ?? 'unknown action'
      const span = start(known, parent ? SpanKind.INTERNAL : SpanKind.SERVER, parent)
      span.setAttribute('muster.actor', actor)
      try {
        return await running.run(span, run)
      } catch (error) {
        const kind = error instanceof ActionError ? error.kind : 'Internal'
        span.setAttribute('error.type', kind).setStatus({ code: SpanStatusCode.ERROR })
        throw error
      } finally {
        span.end()
      }
    },
    statement(text) {
      const parent = running.getStore()
      if (!parent?.isRecording()) return undefined
      const span = start(nameOf(text), SpanKind.CLIENT, parent)
      span.setAttributes({ 'db.system.name': 'postgresql', 'db.query.text': shortStatement(text) })
      return error => {
        if (error) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      }
    },
    async [Symbol.asyncDispose]() {
      await waitUpTo(
        STOP_MS,
        provider.shutdown().catch(() => {}),
      )
    },
  }
}

/** Name of a statement's span: its first word and the first table that it names. Names of partitions hold dates, which are cut off. */
function nameOf(text: string): string {
  const [verb = 'statement'] = /^\s*\w+/.exec(text) ?? []
  const [, table] = /\b(?:from|into|update|join)\s+"?([a-z_]+)/i.exec(text) ?? []
  return [verb.trim().toLowerCase(), ...(table === undefined ? [] : [table])].join(' ')
}

/** Logs when exports begin to fail, and when they succeed again. */
function reported(exporter: SpanExporter, log: Logger): SpanExporter {
  let isFailing = false
  return {
    export(spans, done) {
      exporter.export(spans, result => {
        const { error } = result
        if (error !== undefined && !isFailing)
          log.warn({ problem: error.message }, 'traces cannot be sent to MUSTER_TRACES_URL and are dropped')
        if (error === undefined && isFailing) log.info('traces are sent again')
        isFailing = error !== undefined
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
