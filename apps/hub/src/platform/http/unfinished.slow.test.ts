import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { deviceIdentity, type TestUser, testHub, until } from '@muster/testkit'
import { afterAll, expect, it } from 'vitest'
import { processDescriptors } from '../runtime/descriptors.ts'

// The hub's certificate in this test is self-signed.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
const folder = await mkdtemp(join(tmpdir(), 'muster-unfinished-'))
const { certificatePem, keyPem } = await deviceIdentity()
const tls = { certPath: join(folder, 'cert.pem'), keyPath: join(folder, 'key.pem') }
await writeFile(tls.certPath, certificatePem)
await writeFile(tls.keyPath, keyPem!)
const secure = await testHub({ tls, publicUrl: 'https://localhost:0' })
const plain = await testHub()
afterAll(async () => {
  await secure[Symbol.asyncDispose]()
  await plain[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

/**
 * Connections of a flood. A hub allows a quarter of the descriptors for connections without a request, and both ends are in this process.
 */
const COUNT = Math.min(5_000, Math.floor(processDescriptors() / 4))

/** The first message of a TLS client. */
function clientHello(): Promise<Buffer> {
  return new Promise(done => {
    const socket = new Duplex({
      read() {},
      write(bytes, _encoding, next) {
        done(bytes)
        next()
      },
    })
    connectTls({ socket }).on('error', () => {})
  })
}

/** 99th percentile of the time of an action of a signed-in person, in milliseconds. */
async function p99Ms(person: TestUser): Promise<number> {
  const times: number[] = []
  const caller = async (): Promise<void> => {
    for (let count = 0; count < 150; count++) {
      const from = performance.now()
      await person.invoke('organizations_Query', {})
      times.push(performance.now() - from)
    }
  }
  await Promise.all([caller(), caller(), caller(), caller()])
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!
}

const hello = await clientHello()
const head =
  'POST /api/v1/actions/invoke/actor_GetActor HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'

it.each([
  ['half-open TLS handshakes', secure, ['', hello.subarray(0, 40), hello]],
  ['incomplete heads of requests', plain, ['GET /hea', head]],
  ['incomplete bodies of requests', plain, [`${head}Content-Length: 1000\r\n\r\n{`]],
] as const)('S22: %s delay no action of others by 500 ms', { timeout: 180_000 }, async (_what, hub, sent) => {
  const person = await hub.user()
  await p99Ms(person)
  const open = new Set<Socket>()
  const over = new AbortController()
  // Replaces connections that the hub closes at their deadline.
  const flood = async (): Promise<void> => {
    for (let count = 0; !over.signal.aborted; count++) {
      if (open.size >= COUNT) {
        await setTimeout(20)
        continue
      }
      const socket = connect({ port: hub.address.port, host: '127.0.0.1', localAddress: '127.0.0.2' })
      open.add(socket)
      socket.on('error', () => {}).once('close', () => open.delete(socket))
      socket.resume().write(sent[count % sent.length]!)
      await new Promise(done => socket.once('connect', done).once('close', done))
    }
  }
  const floods = Promise.all([flood(), flood(), flood(), flood()])
  try {
    expect(await p99Ms(person)).toBeLessThan(500)
    await until('all are open', () => open.size >= COUNT * 0.95, 90_000)
    expect(await p99Ms(person)).toBeLessThan(500)
  } finally {
    over.abort()
    await floods
    for (const socket of open) socket.destroy()
  }
})
