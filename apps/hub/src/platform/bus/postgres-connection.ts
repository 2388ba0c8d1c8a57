import pg from 'pg'
import type { BusConnection, Connect } from './remote-bus.ts'

/** Deadline for connecting, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000
/** Time after which the socket of a session that does not end is destroyed, in milliseconds. */
const CLOSE_MS = 500

/**
 * Settings of the session. During a commit with `NOTIFY`, PostgreSQL holds one lock for all notifications. With `synchronous_commit` off,
 * the commit does not wait for the disk. `tcp_user_timeout` closes the session of a node whose process hangs, because unread
 * notifications would fill the queue of the server.
 */
const SETTINGS = "set synchronous_commit = off; set statement_timeout = '10s'; set tcp_user_timeout = '30s'"

const NOTIFY =
  'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as b (channel, payload)'

/**
 * Connects with a session of its own that uses `LISTEN` and `NOTIFY` of PostgreSQL. Each subject is a notification channel whose name
 * begins with `muster.` and `instanceId`.
 */
export function postgresConnect(connection: pg.ClientConfig, instanceId: string): Connect {
  const prefix = `muster.${instanceId}.`
  return async ({ received, lost, signal }): Promise<BusConnection> => {
    const client = new pg.Client({
      ...connection,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      application_name: 'muster bus',
    })
    signal.addEventListener('abort', () => close(client))
    client.on('error', error => lost(error.message))
    client.on('end', () => lost('the connection was closed'))
    client.on('notification', ({ channel, payload = '' }) => received(channel.slice(prefix.length), payload))
    const run = async (statement: 'listen' | 'unlisten', subjects: readonly string[]): Promise<void> => {
      const channels = subjects.map(subject => pg.escapeIdentifier(prefix + subject))
      if (channels.length > 0) await client.query(channels.map(name => `${statement} ${name}`).join('; '))
    }
    await client.connect()
    await client.query(SETTINGS)
    return {
      listen: subjects => run('listen', subjects),
      unlisten: subjects => run('unlisten', subjects),
      async send(batches) {
        await client.query(NOTIFY, [
          batches.map(({ subject }) => prefix + subject),
          batches.map(({ text }) => text),
        ])
      },
      async ping() {
        await client.query('select')
      },
    }
  }
}

/** Ends the session. A hung server never closes its side, so the socket is destroyed after `CLOSE_MS`. */
function close(client: pg.Client): void {
  client.end().catch(() => {})
  setTimeout(() => client.connection.stream.destroy(), CLOSE_MS).unref()
}
