import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { ActionError } from '@muster/actions'
import { endWith } from '../net/last-answer.ts'
import { bareAnswer } from '../net/security-headers.ts'
import { hasTwoHosts, twoHostsError } from '../net/served-hosts.ts'

type Upgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => void
type Held = { request: IncomingMessage; socket: Socket; head: Buffer; deadline: NodeJS.Timeout }

/** How long a device waits for a hub that starts, in milliseconds, and how many do; like in a storm (decisions, "Devices"). */
const MAX_HELD_MS = 30_000
const MAX_HELD = 20_000

/**
 * Holds who asks for an upgrade before the hub can decide: after a restart the whole fleet is there at once, and a public agent
 * that is refused comes back a minute later.
 */
export class EarlyUpgrades implements Disposable {
  readonly #headers: Record<string, string>
  readonly #held = new Set<Held>()
  #serve: Upgrade | undefined

  /** `headers` go with every refusal. */
  constructor(headers: Record<string, string>) {
    this.#headers = headers
  }

  /** Takes the upgrades of a server, from before it listens. */
  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      if (hasTwoHosts(request)) this.#refuse(socket, twoHostsError())
      else if (this.#serve) this.#serve(request, socket, head)
      else this.#hold(request, socket, head)
    })
  }

  /** Hands over those who wait, and from now on everybody. */
  open(serve: Upgrade): void {
    this.#serve = serve
    for (const held of this.#held) {
      this.#release(held)
      if (!held.socket.destroyed) serve(held.request, held.socket, held.head)
    }
  }

  /** Lets go of who still waits when the hub does not come to be. */
  [Symbol.dispose](): void {
    for (const held of this.#held) {
      this.#release(held)
      held.socket.destroy()
    }
  }

  #hold(request: IncomingMessage, socket: Socket, head: Buffer): void {
    // Nobody else listens: a reset must not become an uncaught exception.
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
    endWith(socket, bareAnswer(this.#headers, error))
  }
}

function startingError(): ActionError {
  return new ActionError('Internal', 'The hub is starting.', { status: 503, retryAfterSecs: 1 })
}

function ignore(): void {}
