import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { ActionError } from '@muster/actions'
import { endWithResponse } from '../../platform/net/last-answer.ts'
import { bareAnswer } from '../../platform/net/security-headers.ts'
import { hasTwoHosts, twoHostsError } from '../../platform/net/served-hosts.ts'

type Upgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => void
type Held = { request: IncomingMessage; socket: Socket; head: Buffer; deadline: NodeJS.Timeout }

/**
 * Maximum wait for the hub to start, in milliseconds. Equal to the maximum wait for authentication (docs/decisions.md, "Tokens and
 * enrolment").
 */
const MAX_HELD_MS = 30_000
/** Maximum number of held upgrade requests. */
const MAX_HELD = 20_000

/**
 * Holds upgrade requests until the hub has started. After a restart the whole fleet reconnects within seconds, and a published Nexigon
 * agent that is refused retries only after a minute.
 */
export class EarlyUpgrades implements Disposable {
  readonly #headers: Record<string, string>
  readonly #held = new Set<Held>()
  #serve: Upgrade | undefined

  /** `headers` are sent with every refusal. */
  constructor(headers: Record<string, string>) {
    this.#headers = headers
  }

  /** Handles the upgrade requests of a server. Call it before the server listens. */
  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      if (hasTwoHosts(request)) this.#refuse(socket, twoHostsError())
      else if (this.#serve) this.#serve(request, socket, head)
      else this.#hold(request, socket, head)
    })
  }

  /** Passes the held upgrade requests, and every later request, to `serve`. */
  open(serve: Upgrade): void {
    this.#serve = serve
    for (const held of this.#held) {
      this.#release(held)
      if (!held.socket.destroyed) serve(held.request, held.socket, held.head)
    }
  }

  /** Destroys the held sockets, for example when the hub fails to start. */
  [Symbol.dispose](): void {
    for (const held of this.#held) {
      this.#release(held)
      held.socket.destroy()
    }
  }

  #hold(request: IncomingMessage, socket: Socket, head: Buffer): void {
    // The held socket has no other 'error' listener. Without this listener a reset would crash the process.
    socket.on('error', ignore)
    if (this.#held.size >= MAX_HELD) {
      this.#refuse(socket, startingError())
      return
    }
    const deadline = setTimeout(() => {
      this.#release(held)
      this.#refuse(socket, startingError())
    }, MAX_HELD_MS)
    const held: Held = { request, socket, head, deadline }
    this.#held.add(held)
  }

  #release(held: Held): void {
    this.#held.delete(held)
    clearTimeout(held.deadline)
    held.socket.off('error', ignore)
  }

  #refuse(socket: Socket, error: ActionError): void {
    socket.on('error', ignore)
    endWithResponse(socket, bareAnswer(this.#headers, error))
  }
}

function startingError(): ActionError {
  return new ActionError('Internal', 'The hub is starting.', { status: 503, retryAfterSecs: 1 })
}

function ignore(): void {}
