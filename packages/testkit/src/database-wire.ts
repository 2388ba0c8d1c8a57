import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { ScratchDatabase } from './scratch-database.ts'

/** What PostgreSQL's clients call the socket in the folder that is their host. */
const SOCKET_NAME = '.s.PGSQL.5432'

/** A wire to a database server that holds answers back or loses them when told to. */
export type DatabaseWire = AsyncDisposable & {
  /** The database for `MUSTER_DATABASE_URL`, over this wire. */
  url: string
  /** The same under another name of this machine. */
  urlAt(host: string): string
  /** How to reach it over the wire. */
  connection: { host: string; port: number; user: string; password: string; database: string }
  /** Holds all answers back. */
  hold(): void
  release(): void
  /** From now on nothing comes or goes on the connections of now; later ones are well. */
  silence(): void
  /** Breaks all connections. */
  cut(): void
  /** Breaks the connection that has sent `after` and sends `text` next, when the answer is there, which is lost. */
  loseAnswer(text: string, after?: string): void
  /** Answers that were lost so. */
  lost: number
}

/** Lays a wire to a scratch database. */
export async function databaseWire({ connection }: ScratchDatabase): Promise<DatabaseWire> {
  const { host, user, password, database } = connection as Record<string, string>
  const replies = new Set<Socket>()
  const silent = new WeakSet<Socket>()
  let isHeld = false
  let losing: { text: string; after: string } | undefined
  const server = createServer(client => {
    const upstream = connect(join(host!, SOCKET_NAME))
    replies.add(upstream)
    if (isHeld) upstream.pause()
    let sent = ''
    let isLost = false
    client.on('data', (bytes: Buffer) => {
      if (silent.has(upstream)) return
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
      if (silent.has(upstream)) return
      if (!isLost) return client.write(bytes)
      wire.lost++
      client.destroy()
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => silent.has(upstream) || other.destroy())
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
    silence() {
      for (const upstream of replies) silent.add(upstream)
    },
    cut() {
      for (const upstream of replies) upstream.destroy()
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
