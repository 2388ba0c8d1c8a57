import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { openWebSocket } from '@muster/testkit/device'
import {
  countRefusal,
  HOSTILE_ADDRESS,
  type HostileKind,
  type HostileRun,
  type HostileTarget,
  untilStopped,
} from './hostile-kind.ts'

type Attack = HostileTarget & { run: HostileRun; isOver: () => boolean }

/** Number of idle and of unfinished connections of one address, of live streams of a session and of links of a token. */
const IDLE = 800
const UNFINISHED = 800
const STREAMS = 666
const LINKS = 401
/** Connections that an attack opens at the same time. */
const PARALLEL = 16
/** Pause before a connection that the hub has closed is opened again, in milliseconds. */
const REOPEN_MS = 20

/** Attacks by connections of one address without credentials, or of one person. */
export const CONNECTION_KINDS: HostileKind[] = [
  {
    name: 'keeps 800 connections idle after a health check',
    limit: 'address-connections',
    start: untilStopped(attack => keepOpen(attack, IDLE, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')),
  },
  {
    name: 'sends 800 requests whose bodies never come',
    limit: 'address-connections',
    start: untilStopped(attack =>
      keepOpen(
        attack,
        UNFINISHED,
        'POST /api/v1/actions/invoke/actor_GetActor HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
      ),
    ),
  },
  { name: 'opens 666 live streams of one session', limit: 'person-streams', start: untilStopped(streams) },
  { name: 'opens 401 links of one user token', limit: 'person-link-share', start: untilStopped(links) },
]

/** Keeps a number of connections open that have sent the same bytes. Replaces those that the hub closes. */
async function keepOpen({ url, run, isOver }: Attack, count: number, bytes: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const open = new Set<Socket>()
  const one = (): Promise<void> =>
    new Promise(done => {
      const socket = connect({ host: hostname, port: Number(port), localAddress: HOSTILE_ADDRESS })
      open.add(socket)
      socket.on('error', () => {})
      socket.once('connect', () => {
        run.accepted++
        socket.write(bytes)
        done()
      })
      socket.once('data', text => {
        if (String(text).startsWith('HTTP/1.1 429'))
          run.refusal ??= /Limit [^"]*/.exec(String(text))?.[0] ?? ''
      })
      socket.once('close', () => {
        open.delete(socket)
        run.refused++
        done()
      })
    })
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (!isOver()) {
        if (open.size < count) await one()
        await pause(open.size < count ? 1 : REOPEN_MS)
      }
    }),
  )
  for (const socket of open) socket.destroy()
}

async function streams({ url, cookie, run, isOver }: Attack): Promise<void> {
  const open: { destroy(): void }[] = []
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (!isOver()) {
        if (open.length >= STREAMS) await pause(REOPEN_MS)
        else await stream(url, cookie, open, run)
      }
    }),
  )
  for (const one of open) one.destroy()
}

async function stream(
  url: string,
  cookie: string,
  open: { destroy(): void }[],
  run: HostileRun,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const asked = request(`${url}/api/v1/live`, { agent: false, headers: { cookie } }).end()
  asked.once('error', error => resolve(String(error)))
  asked.once('response', response => {
    response.on('error', () => {})
    if (response.statusCode === 200) {
      response.resume()
      open.push(response)
      resolve(undefined)
    } else response.once('data', text => resolve(String(text)))
  })
  const refusal = await promise
  if (refusal === undefined) run.accepted++
  else await countRefusal(run, refusal)
}

async function links({ url, userToken, run, isOver }: Attack): Promise<void> {
  const open: { terminate(): void }[] = []
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (!isOver()) {
        if (open.length >= LINKS) {
          await pause(REOPEN_MS)
          continue
        }
        try {
          open.push((await openWebSocket(url, { authorization: `Bearer ${userToken}` })).webSocket)
          run.accepted++
        } catch (error) {
          await countRefusal(run, error)
        }
      }
    }),
  )
  for (const webSocket of open) webSocket.terminate()
}
