import { ExecutorClient, type Link } from '@muster/link'
import { type ConnectOptions, connectToHub, type HubCredentials } from './hub-connection.ts'

/** A connection that the hub has identified as the connection of a device. */
export type Session = {
  deviceId: string
  link: Link
  /** Runs actions at the hub one after the other, each with a timeout. */
  executor: ExecutorClient
  /** Resets the connection without a closing handshake. */
  drop(): void
}

/** Error for a connection that the hub accepted, but not as a connection of a device, because the token is not a deployment token. */
export class NotADeviceError extends Error {
  override readonly name = 'NotADeviceError'
}

const OPEN_TIMEOUT_MS = 30_000
/** Timeout of one action in milliseconds. */
export const ANSWER_TIMEOUT_MS = 60_000

const EXECUTOR_OPTIONS = { answerTimeoutMs: ANSWER_TIMEOUT_MS }

/**
 * Connects, and checks that the hub identifies the connection as the connection of a device (docs/protocol.md 3.7). Rejects like
 * `connectToHub`, with the link's errors, or with `NotADeviceError`. The connection is closed in each case of rejection.
 */
export async function openSession(credentials: HubCredentials, options: ConnectOptions): Promise<Session> {
  const { link, drop } = await connectToHub(credentials, options)
  const close = () => link.close()
  options.signal?.addEventListener('abort', close, { once: true })
  try {
    const channel = await link.open('executor', { timeoutMs: OPEN_TIMEOUT_MS, signal: options.signal })
    const executor = new ExecutorClient(channel, EXECUTOR_OPTIONS)
    return { deviceId: deviceIdOf(await executor.invoke('actor_GetActor', {})), link, executor, drop }
  } catch (error) {
    link.close()
    throw error
  } finally {
    options.signal?.removeEventListener('abort', close)
  }
}

function deviceIdOf(answer: unknown): string {
  const { actor } = (answer ?? {}) as { actor?: { actor?: unknown; deviceId?: unknown } }
  if (actor?.actor === 'Device' && typeof actor.deviceId === 'string') return actor.deviceId
  throw new NotADeviceError(
    `the hub takes this connection for ${String(actor?.actor)}, expected a Device: is the token a deployment token?`,
  )
}
