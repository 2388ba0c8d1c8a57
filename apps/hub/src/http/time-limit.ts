import type { IncomingMessage } from 'node:http'

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>()

/** Calls back when a request is not there in time; one without a body is there with its head. */
export function limitTime(request: IncomingMessage, timeoutMs: number, isOver: () => void): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (length === undefined && encoding === undefined) return
  const timer = setTimeout(isOver, timeoutMs)
  timers.set(request, timer)
  request.once('close', () => clearTimeout(timer))
}

/** Lets a request take its time, for whoever watches over it themselves. */
export function liftTimeLimit(request: IncomingMessage): void {
  clearTimeout(timers.get(request))
}
