import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { ScratchDatabase } from './scratch-database.ts'

/** File name of the socket in the folder that PostgreSQL clients use as host. */
const SOCKET_NAME = '.s.PGSQL.5432'

/** A TCP proxy in front of a database server that delays or drops the server's answers on request. */
export type DatabaseWire = AsyncDisposable & {
  /** URL of the database through this proxy, for `MUSTER_DATABASE_URL`. */
  url: string
  /** Returns `url` with `host` as the host name. The name must resolve to this machine. */
  urlAt(host: string): string
  /** Connection settings through this proxy. */
  connection: { host: string; port: number; user: string; password: string; database: string }
  /** Holds back all answers until release(). */
  hold(): void
  release(): void
  /** Stops all traffic on the existing connections. New connections work. */
  freeze(): void
  /** Closes all connections. */
  cut(): void
  /** With true, closes all connections and refuses new ones. With false, accepts new connections again. */
  down(isDown: boolean): void
  /**
   * Waits until a client has sent `text`, and `after` if given, on one connection. Drops the next answer on that connection and
   * closes the connection.
   */
  loseAnswer(text: string, after?: string): void
  /** Number of answers dropped by loseAnswer(). */
  lost: number
}

/** Starts a proxy in front of a scratch database. */
export async function databaseWire({ connection }: ScratchDatabase): Promise<DatabaseWire> {
  const { host, user, password, database } = connection as Record<string, string>
  const replies = new Set<Socket>()
  const frozen = new WeakSet<Socket>()
  let isHeld = false
  let isDown = false
  let losing: { text: string; after: string } | undefined
  const server = createServer(client => {
    if (isDown) return client.resetAndDestroy()
    const upstream = connect(join(host!, SOCKET_NAME))
    replies.add(upstream)
    if (isHeld) upstream.pause()
    let sent = ''
    let isLost = false
    client.on('data', (bytes: Buffer) => {
      if (frozen.has(upstream)) return
      if (losing) {
        sent += bytes.toString('latin1')
        if (sent.includes(losing.text) && sent.includes(losing.after)) {
          losing = undefined
          isLost = true
        }
      }
      upstream.write(bytes)
    })
    upstream.on('data', (bytes: Buffer) => {
      if (frozen.has(upstream)) return
      if (!isLost) return client.write(bytes)
      wire.lost++
      client.destroy()
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => frozen.has(upstream) || other.destroy())
    }
    upstream.on('close', () => replies.delete(upstream))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const login = [user!, password!].map(encodeURIComponent).join(':')
  const urlAt = (name: string): string => `postgresql://${login}@${name}:${port}/${database}`
  const wire: DatabaseWire = {
    url: urlAt('127.0.0.1'),
    urlAt,
    connection: { host: '127.0.0.1', port, user: user!, password: password!, database: database! },
    hold() {
      isHeld = true
      for (const upstream of replies) upstream.pause()
    },
    release() {
      isHeld = false
      for (const upstream of replies) upstream.resume()
    },
    freeze() {
      for (const upstream of replies) frozen.add(upstream)
    },
    cut() {
      for (const upstream of replies) upstream.destroy()
    },
    down(value) {
      isDown = value
      if (isDown) for (const upstream of replies) upstream.destroy()
    },
    loseAnswer(text, after = '') {
      losing = { text, after }
    },
    lost: 0,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const upstream of replies) upstream.destroy()
    },
  }
  return wire
}
