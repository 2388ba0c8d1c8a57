import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { ActionError } from '@muster/actions/client'
import { Backoff, ChannelRejectedError, type Link, pipeSocket } from '@muster/link'
import type { CommandContext } from './command-context.ts'
import { type Access, siteProxy } from './config.ts'
import { CliError, exitCodeOf, messageOf, rootCauseOf } from './errors.ts'
import { openLink } from './hub-link.ts'
import { plain } from './table.ts'

/** Address of the local ports: loopback only, so that no other machine can reach the device. */
const LOCALHOST = '127.0.0.1'
/** Longest pause between two attempts to reach the hub, in milliseconds. */
const MAX_PAUSE_MS = 15_000

/** A local port and the device's port that it forwards to. */
export type Mapping = { localPort: number; remotePort: number }

/**
 * Serves local ports until the signal is aborted. All of them share one link to the hub, which is reopened whenever it ends. Calls
 * `onListening` with the ports. Throws `CliError` if the first connection to the hub fails or a local port is not available, and
 * `ActionError` if the hub refuses a later connection.
 */
export async function forward(
  { signal, err, environment }: CommandContext,
  access: Access,
  {
    deviceId,
    mappings,
    onListening,
  }: { deviceId: string; mappings: Mapping[]; onListening: (forwards: Mapping[]) => void },
): Promise<void> {
  const sockets = new Set<Socket>()
  const servers: Server[] = []
  const proxy = siteProxy(access.hubUrl, access.proxyUrl, environment)
  const open = () => openLink(access, signal, proxy)
  let link = open()
  try {
    let current = await link.catch((cause: unknown) => {
      throw unreachable(access, cause)
    })
    const forwards: Mapping[] = []
    for (const { localPort, remotePort } of mappings) {
      const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
        socket.on('error', () => {})
        carry(socket, link, `device/${deviceId}/proxy/forward/tcp/${remotePort}`).catch((error: unknown) => {
          socket.resetAndDestroy()
          if (!signal.aborted) err(`muster: port ${remotePort}: ${reasonOf(error)}\n`)
        })
      })
      servers.push(server)
      await listen(server, localPort)
      forwards.push({ localPort: (server.address() as AddressInfo).port, remotePort })
    }
    onListening(forwards)
    const backoff = new Backoff({ capMs: MAX_PAUSE_MS })
    for (;;) {
      const since = performance.now()
      const { reason } = await untilAborted(current.ended, signal)
      err(`muster: the connection to the hub ended${reason && ` (${reason})`}; connecting again\n`)
      backoff.endedAfter(performance.now() - since)
      // Local connections that are opened during the reconnect wait for the new link.
      link = reconnect(open, backoff, signal)
      current = await link
      err('muster: connected again\n')
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    for (const server of servers) server.close()
    for (const socket of sockets) socket.destroy()
    await link.then(
      open => open.close(),
      () => {},
    )
  }
}

async function carry(socket: Socket, link: Promise<Link>, endpoint: string): Promise<void> {
  const channel = await (await link).open(endpoint)
  if (socket.destroyed) channel.close()
  else await pipeSocket(channel, socket)
}

/** Opens a link, retrying while the hub is unreachable. Throws `ActionError` if the hub refuses the connection. */
async function reconnect(open: () => Promise<Link>, backoff: Backoff, signal: AbortSignal): Promise<Link> {
  for (;;) {
    await wait(backoff.nextDelayMs(), undefined, { signal })
    try {
      return await open()
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ActionError && error.status < 500 && error.kind !== 'RateLimited') throw error
    }
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, LOCALHOST)
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    throw new CliError(
      `Found port ${port} of this machine in use or not allowed (${cause.code}), expected a free one.`,
      {
        cause,
      },
    )
  })
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort))
}

function unreachable({ hubUrl }: Access, cause: unknown): CliError {
  const words = cause instanceof ActionError ? messageOf(cause) : rootCauseOf(cause)
  return new CliError(`No connection to ${hubUrl}: ${words}`, { exitCode: exitCodeOf(cause), cause })
}

function reasonOf(error: unknown): string {
  return error instanceof ChannelRejectedError ? plain(error.reason) : messageOf(error)
}
