import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import {
  type DevicePage,
  devicePage,
  ODD_ANSWERS,
  oddServer,
  SHOWN_TEXT,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { AnswerReader } from './answer-reader.ts'

let hub: TestHub
beforeAll(async () => {
  hub = await testHub({ proxySilenceSecs: 1 })
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Body of an answer, or the part that arrived before the answer broke off. */
async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  answer.on('data', (piece: Buffer) => pieces.push(piece))
  answer.on('error', () => {})
  await new Promise(done => answer.once('close', done))
  return Buffer.concat(pieces).toString()
}

describe('D4: an odd answer of a device', () => {
  let odd: Awaited<ReturnType<typeof oddServer>>
  let page: DevicePage

  beforeAll(async () => {
    odd = await oddServer()
    page = await devicePage(hub, odd.server)
  })
  afterAll(async () => {
    await page[Symbol.asyncDispose]()
    await odd[Symbol.asyncDispose]()
  })

  it.each(ODD_ANSWERS.map((answer, n) => [answer.name, answer, n] as const))(
    'is shown as a browser shows it: %s',
    async (_name, { shows, status = 200 }, n) => {
      const answer = await page.ask(`/${n}`, { maxHeaderSize: 1024 * 1024 })
      const shown = await textOf(answer)
      if (shows === 'refused') {
        expect([204, 502]).toContain(answer.statusCode)
        expect(shown).not.toContain(SHOWN_TEXT)
      } else {
        expect(answer.statusCode).toBe(status)
        expect(shown).toContain(shows === 'part' ? SHOWN_TEXT.slice(0, 5) : SHOWN_TEXT)
      }
      // No byte of this answer is part of the next one.
      expect(await textOf(await page.ask('/0'))).toMatch(new RegExp(`^<!doctype html><p>${SHOWN_TEXT}</p>$`))
    },
  )

  it('is in the table of docs/assurance.md', async () => {
    const text = await readFile(join(import.meta.dirname, '../../../../../docs/assurance.md'), 'utf8')
    const table = text.slice(text.indexOf('\n## Odd answers of devices\n'))
    const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) => cell!.split('; '))
    expect(named.slice(1).sort()).toEqual(ODD_ANSWERS.map(({ name }) => name).sort())
  })

  it('is read in the same way in whatever pieces it arrives', () => {
    const read = ({ text, staysOpen }: (typeof ODD_ANSWERS)[number], size: number): string => {
      const bytes = Buffer.from(text, 'latin1')
      const reader = new AnswerReader()
      reader.expect('GET')
      const out: Buffer[] = []
      try {
        for (let at = 0; at < bytes.length; at += size)
          out.push(...reader.read(bytes.subarray(at, at + size)))
        if (!staysOpen) reader.end()
      } catch (error) {
        return `${Buffer.concat(out).toString('latin1')} ${error}`
      }
      return Buffer.concat(out).toString('latin1')
    }
    for (const answer of ODD_ANSWERS.filter(({ text }) => text.length < 10_000)) {
      const whole = read(answer, answer.text.length)
      for (const size of [1, 2, 3, 7, 64]) expect(read(answer, size), `${answer.name} by ${size}`).toBe(whole)
      const [head] = whole.split('\r\n\r\n', 1)
      for (const line of head!.split('\r\n').slice(1))
        expect(line, answer.name).toMatch(/^[!#$%&'*+\-.^_`|~\dA-Za-z]+: [\t\x20-\x7e\x80-\xff]*$/)
    }
  })
})

describe('D4: a device that falls silent within its answer', () => {
  const waiting: ServerResponse[] = []
  const app = createServer((request, response) => {
    if (request.url === '/events') response.setHeader('content-type', 'text/event-stream; charset=utf-8')
    if (request.url === '/chunks') response.setHeader('transfer-encoding', 'chunked')
    if (request.url === '/length') response.setHeader('content-length', 100)
    response.write('begun')
    waiting.push(response)
  })
  const sockets = new WebSocketServer({ server: app })
  let page: DevicePage

  beforeAll(async () => {
    await once(app.listen(0, '127.0.0.1'), 'listening')
    page = await devicePage(hub, app)
  })
  afterAll(async () => {
    await page[Symbol.asyncDispose]()
    sockets.close()
    app.closeAllConnections()
    app.close()
  })

  it('is cut off after the time of the setting, but not its event streams and WebSockets', async () => {
    sockets.on('connection', socket => socket.on('message', data => socket.send(data)))
    const webSocket = new WebSocket(`ws://127.0.0.1:${hub.address.port}/`, {
      headers: { host: page.host, cookie: page.cookie },
    })
    await once(webSocket, 'open')
    const events = await page.ask('/events')
    const stream = textOf(events)
    const cut = await Promise.all(
      ['/chunks', '/length'].map(async path => {
        const answer = await page.ask(path)
        return { text: await textOf(answer), isComplete: answer.complete }
      }),
    )
    expect(cut).toEqual([
      { text: 'begun', isComplete: false },
      { text: 'begun', isComplete: false },
    ])
    // The stream and the WebSocket were silent for longer than the answers that were cut off.
    waiting[0]!.end(' and alive')
    expect(await stream).toBe('begun and alive')
    expect(events.complete).toBe(true)
    webSocket.send('echo')
    const [echo] = (await once(webSocket, 'message')) as [Buffer]
    expect(String(echo)).toBe('echo')
    webSocket.terminate()
    await until('the channels of the cut answers are free', () => waiting.every(each => each.closed))
  })
})
