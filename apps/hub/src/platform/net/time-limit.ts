import type { IncomingMessage } from 'node:http'

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>()

/** Calls `onTimeout` if the body of a request has not arrived after `timeoutMs`. A request without a body gets no limit. */
export function limitTime(request: IncomingMessage, timeoutMs: number, onTimeout: () => void): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (length === undefined && encoding === undefined) return
  const timer = setTimeout(onTimeout, timeoutMs)
  timers.set(request, timer)
  request.once('close', () => clearTimeout(timer))
}

/** Removes the time limit of a request whose handler has timeouts of its own. */
export function liftTimeLimit(request: IncomingMessage): void {
  clearTimeout(timers.get(request))
}
