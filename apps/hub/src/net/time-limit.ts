import type { IncomingMessage } from 'node:http'

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>()

/** Calls back if the request's body does not arrive in time. A request without a body is complete with its head. */
export function limitTime(request: IncomingMessage, timeoutMs: number, isOver: () => void): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (length === undefined && encoding === undefined) return
  const timer = setTimeout(isOver, timeoutMs)
  timers.set(request, timer)
  request.once('close', () => clearTimeout(timer))
}

/** Removes the limit of a request whose handler has limits of its own. */
export function liftTimeLimit(request: IncomingMessage): void {
  clearTimeout(timers.get(request))
}
