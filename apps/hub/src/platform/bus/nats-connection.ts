import { connect, type NatsConnection, type Subscription } from '@nats-io/transport-node'
import type { BusConnection, Connect } from './remote-bus.ts'

/** Deadline for connecting, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000

/** Connects to NATS, without JetStream. Each subject contains `instanceId`, because other instances may use the same server. */
export function natsConnect(urls: readonly string[], instanceId: string): Connect {
  const prefix = `muster.${instanceId}.`
  return async ({ received, lost, signal }): Promise<BusConnection> => {
    const connection = await connect({
      ...serverOptions(urls),
      name: 'muster',
      // `RemoteBus` reconnects itself. A reconnecting client would buffer messages without a bound while it is disconnected.
      reconnect: false,
      timeout: CONNECT_TIMEOUT_MS,
      noEcho: true,
    })
    const close = (): void => void connection.close().catch(() => {})
    if (signal.aborted) close()
    signal.addEventListener('abort', close)
    void connection.closed().then(error => lost(error?.message ?? 'the connection was closed'))
    void reportErrors(connection, lost)
    const subscriptions = new Map<string, Subscription>()
    return {
      async listen(subjects) {
        for (const subject of subjects) {
          const callback = (error: Error | null, message: { string(): string }): void =>
            error ? lost(error.message) : received(subject, message.string())
          subscriptions.set(subject, connection.subscribe(prefix + subject, { callback }))
        }
        await connection.flush()
      },
      async unlisten(subjects) {
        for (const subject of subjects) {
          subscriptions.get(subject)?.unsubscribe()
          subscriptions.delete(subject)
        }
      },
      async send(batches) {
        for (const { subject, text } of batches) connection.publish(prefix + subject, text)
        // The client buffers data that the server has not read. Awaiting `flush` bounds the buffer to the batches of one call.
        await connection.flush()
      },
      ping: () => connection.flush(),
    }
  }
}

/** Reports the connection as lost when the server reports an error, such as a missing permission for a subject. */
async function reportErrors(connection: NatsConnection, lost: (reason: string) => void): Promise<void> {
  for await (const status of connection.status()) if (status.type === 'error') lost(status.error.message)
}

/** Client options from URLs, which contain a user name with a password, or a token. `tls://` requires TLS. */
function serverOptions(urls: readonly string[]) {
  const parsed = urls.map(url => new URL(url))
  const { username, password } = parsed[0]!
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)]
  return {
    servers: parsed.map(({ host }) => host),
    ...(user && (pass ? { user, pass } : { token: user })),
    ...(parsed.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
  }
}
