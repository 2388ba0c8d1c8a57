import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** An odd answer of a device's web server, and what a browser makes of it. */
export type OddAnswer = {
  name: string
  /** Bytes of the answer, each character one byte. `//HOST` stands for the request's host. */
  text: string
  /**
   * `page`: the text of `PAGE` is shown. `part`: its first letters are shown. `raw`: the text stands between other text. `refused`: an error of
   * the browser, and a page of the hub with that status through the proxy.
   */
  shows: 'page' | 'part' | 'raw' | 'refused'
  /** Status of the answer, 200 by default. */
  status?: number
  /** The server keeps the connection open after the answer. Otherwise it closes the connection. */
  staysOpen?: true
  /** Time after which the server closes a connection that stays open, in milliseconds. */
  closesAfterMs?: number
}

/** Text of the pages in `ODD_ANSWERS`. */
export const SHOWN_TEXT = 'The pump runs.'
const PAGE = `<!doctype html><p>${SHOWN_TEXT}</p>`
const TYPE = 'Content-Type: text/html\r\n'
const LENGTH = `Content-Length: ${PAGE.length}\r\n`
const SIZE = PAGE.length.toString(16)
const CHUNKS = `${SIZE}\r\n${PAGE}\r\n0\r\n\r\n`
const CHUNKED = 'Transfer-Encoding: chunked\r\n'

/** An answer with a further header line. */
const withLine = (line: string): string => `HTTP/1.1 200 OK\r\n${TYPE}${line}\r\n${LENGTH}\r\n${PAGE}`
/** An answer with this status line. */
const withStatus = (line: string): string => `${line}\r\n${TYPE}${LENGTH}\r\n${PAGE}`
/** An answer with these header lines about its length. */
const withLengths = (lines: string): string => `HTTP/1.1 200 OK\r\n${TYPE}${lines}\r\n${PAGE}`
/** An answer with this body in chunks. */
const withChunks = (body: string, lines = CHUNKED, version = '1.1'): string =>
  `HTTP/${version} 200 OK\r\n${TYPE}${lines}\r\n${body}`

const page = (name: string, text: string): OddAnswer => ({ name, text, shows: 'page' })
const open = (name: string, text: string): OddAnswer => ({ name, text, shows: 'page', staysOpen: true })
/**
 * An answer that breaks off. The server closes a moment later, because Chromium shows nothing of a page whose connection ends before its
 * first part is read.
 */
const cutOff = (name: string, text: string): OddAnswer => ({ ...open(name, text), closesAfterMs: 300 })

/** Odd answers of web servers on small devices. docs/assurance.md has them as a table. */
export const ODD_ANSWERS: readonly OddAnswer[] = [
  open('plain', withStatus('HTTP/1.1 200 OK')),
  open(
    'a leading blank in the first header line',
    `HTTP/1.1 200 OK\r\n X-A: b\r\n${TYPE}${LENGTH}\r\n${PAGE}`,
  ),
  open('a leading blank in a later header line', withLine('X-A: b\r\n c')),
  open('`=` in a name', withLine('X=A: b')),
  open('a blank in a name', withLine('X A: b')),
  open('a bracket in a name', withLine('X[A]: b')),
  open('a blank before the colon', withLine('X-A : b')),
  open('a line without a colon', withLine('This is no header')),
  open('an empty name', withLine(': b')),
  open('UTF-8 in a value', withLine('X-A: \xc3\xbc \xe2\x82\xac')),
  open('a control character in a value', withLine('X-A: b\x01c\x7f')),
  { name: 'NUL in a value', text: withLine('X-A: b\0c'), shows: 'refused' },
  open('a bare CR in a value', withLine('X-A: b\rc')),
  open('bare LF as line ends', withStatus('HTTP/1.1 200 OK').replaceAll('\r', '')),
  open('no reason phrase', withStatus('HTTP/1.1 200')),
  page('HTTP/1.0', withStatus('HTTP/1.0 200 OK')),
  page('HTTP/1.0 without a type', `HTTP/1.0 200 OK\r\n\r\n${PAGE}`),
  { name: 'HTTP/0.9, body only', text: PAGE, shows: 'refused' },
  { name: 'ICY 200 OK', text: withStatus('ICY 200 OK'), shows: 'refused' },
  open('the version in lower case', withStatus('http/1.1 200 OK')),
  open('version 1.2', withStatus('HTTP/1.2 200 OK')),
  open('an empty line before the status line', `\r\n${withStatus('HTTP/1.1 200 OK')}`),
  open('two equal types', withLine('Content-Type: text/html')),
  open('two equal Content-Length lines', withLengths(LENGTH + LENGTH)),
  open('Content-Length: N, N', withLengths(`Content-Length: ${PAGE.length}, ${PAGE.length}\r\n`)),
  page('Content-Length: +N', withLengths(`Content-Length: +${PAGE.length}\r\n`)),
  page('a negative Content-Length', withLengths('Content-Length: -1\r\n')),
  page('an empty Content-Length', withLengths('Content-Length:\r\n')),
  {
    name: 'a Content-Length that is too short',
    text: withLengths(`Content-Length: ${PAGE.length - 8}\r\n`),
    shows: 'part',
    staysOpen: true,
  },
  cutOff('a Content-Length that is too long', withLengths(`Content-Length: ${PAGE.length + 8}\r\n`)),
  open('Content-Length beside chunked', withChunks(CHUNKS, `Content-Length: 3\r\n${CHUNKED}`)),
  cutOff('chunked without its end', withChunks(`${SIZE}\r\n${PAGE}\r\n`)),
  open('chunked with bare LF', withChunks(CHUNKS.replaceAll('\r', ''))),
  open('blanks after the size of a chunk', withChunks(`${SIZE}  \r\n${PAGE}\r\n0 \r\n\r\n`)),
  open('Chunked with a capital letter', withChunks(CHUNKS, 'Transfer-Encoding: Chunked\r\n')),
  open('identity, chunked', withChunks(CHUNKS, 'Transfer-Encoding: identity, chunked\r\n')),
  { name: 'chunked under HTTP/1.0', text: withChunks(CHUNKS, CHUNKED, '1.0'), shows: 'raw' },
  { name: 'a body after 204', text: withStatus('HTTP/1.1 204 No Content'), shows: 'refused' },
  open('103 before 200', `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${withStatus('HTTP/1.1 200 OK')}`),
  open('100 before 200', `HTTP/1.1 100 Continue\r\n\r\n${withStatus('HTTP/1.1 200 OK')}`),
  { ...open('status 600', withStatus('HTTP/1.1 600 Odd')), status: 600 },
  { ...open('status 999', withStatus('HTTP/1.1 999 Odd')), status: 999 },
  open('an offer of h2c', withLine('Connection: Upgrade\r\nUpgrade: h2c')),
  open('an offer of h2c without Connection', withLine('Upgrade: h2c')),
  { ...open('keep-alive that closes after 300 ms', withLine('Connection: keep-alive')), closesAfterMs: 300 },
  { ...open('a relative redirect', withStatus('HTTP/1.1 302 Found\r\nLocation: /0')), status: 302 },
  {
    ...open('a redirect without a scheme', withStatus('HTTP/1.1 302 Found\r\nLocation: //HOST/0')),
    status: 302,
  },
  open('Refresh', withLine('Refresh: 0; url=/0')),
  open('a head of 120 KB', withLine(`X-A: ${'a'.repeat(120_000)}`)),
  open('2,500 header lines', withLine(Array.from({ length: 2_500 }, (_, n) => `X-${n}: b`).join('\r\n'))),
  open(
    'two Set-Cookie lines, one with a foreign domain',
    withLine('Set-Cookie: a=1\r\nSet-Cookie: b=2; Domain=other.example'),
  ),
  open('Strict-Transport-Security', withLine('Strict-Transport-Security: max-age=60')),
  open('upgrade-insecure-requests', withLine('Content-Security-Policy: upgrade-insecure-requests')),
  {
    name: 'Basic authentication',
    text: withStatus('HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm="pump"'),
    shows: 'page',
    status: 401,
  },
]

/** Serves each of `ODD_ANSWERS` under its index: `/0`, `/1` and so on. */
export async function oddServer() {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let request = ''
    socket.on('data', bytes => {
      request += bytes.toString('latin1')
      for (let end = request.indexOf('\r\n\r\n'); end >= 0; end = request.indexOf('\r\n\r\n')) {
        const head = request.slice(0, end)
        request = request.slice(end + 4)
        const odd = ODD_ANSWERS[Number(/^GET \/(\d+)/.exec(head)?.[1])]
        if (odd === undefined) {
          socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
          continue
        }
        const [, host = ''] = /\r\nhost: *(\S+)/i.exec(head) ?? []
        socket.write(odd.text.replace('//HOST', `//${host}`), 'latin1')
        if (!odd.staysOpen) socket.end()
        if (odd.closesAfterMs !== undefined) setTimeout(() => socket.end(), odd.closesAfterMs)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
