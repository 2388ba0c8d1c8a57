import { STATUS_CODES } from 'node:http'
import { Unreachable } from './pages.ts'

/** Largest head of an answer, in bytes. Browsers have the same limit. */
export const MAX_HEAD_BYTES = 256 * 1024
/** Most lines of a head. Each becomes a header that Node checks. */
const MAX_HEAD_LINES = 10_000
/** Longest line of a chunked body, in bytes: the size of a chunk, or a trailer. Chromium has the same limit. */
const MAX_LINE_BYTES = 16 * 1024
/** Interim answers (100 to 199) before an answer. Services send one or two. */
const MAX_INTERIM = 16
/** Bytes before the status line in which Chromium looks for its start. */
const MAX_BEFORE_STATUS = 4

const LF = 10
const CR = 13
const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a value must not contain
const CONTROL = /[\x01-\x08\x0a-\x1f\x7f]/
const CONTROLS = new RegExp(CONTROL, 'g')
/** A length that is exact as a number. */
const LENGTH = /^\d{1,15}$/
/** Size of a chunk. Longer numbers are not exact, and no device sends such a chunk. */
const CHUNK_SIZE = /^0*([\dA-Fa-f]{1,12})$/

type State =
  /** No answer is expected. */
  | 'Idle'
  | 'Head'
  /** Body of a known length. */
  | 'Length'
  /** Body that ends with the connection. */
  | 'ToClose'
  | 'ChunkSize'
  | 'Chunk'
  | 'ChunkEnd'
  | 'Trailers'
  /** Another protocol after an upgrade. */
  | 'Upgraded'
  /** The connection cannot be used for another answer. */
  | 'Over'

type Header = [name: string, value: string]

/**
 * Reads the answers of a device's web server as Chromium reads them, and writes them anew for Node's strict parser: small devices send imprecise
 * HTTP that browsers show (docs/assurance.md, "Odd answers of devices"). The result is well-formed whatever the device sends. Heads follow
 * RFC 9112 (2.2, 5) and Chromium's `HttpResponseHeaders`, bodies RFC 9112 (6, 7). The bytes of bodies are passed on without a copy.
 */
export class AnswerReader {
  #state: State = 'Idle'
  #method = 'GET'
  #head: Buffer | undefined
  #interim = 0
  /** Bytes that the body, or its current chunk, still has. */
  #left = 0
  /** Part of a line of a chunked body whose rest has not arrived. */
  #line: Buffer | undefined

  /** Prepares for the answer to a request with this method. */
  expect(method: string): void {
    if (this.#state === 'Over') return
    this.#state = 'Head'
    this.#method = method
    this.#interim = 0
  }

  /** True when the answer is complete and the connection cannot be used for another one. */
  get isOver(): boolean {
    return this.#state === 'Over'
  }

  /** Returns the well-formed text of the next bytes of the device. Throws `Unreachable` if they are not HTTP to browsers either. */
  read(bytes: Buffer): Buffer[] {
    const out: Buffer[] = []
    let rest = bytes
    while (rest.length > 0) rest = this.#step(rest, out)
    return out
  }

  /** Handles the end of the connection. Throws `Unreachable` if it ends within a head. */
  end(): void {
    if (this.#state === 'Head' && this.#head !== undefined) throw new Unreachable('nonsense')
  }

  /** Reads a part of the bytes and returns the rest. */
  #step(bytes: Buffer, out: Buffer[]): Buffer {
    switch (this.#state) {
      case 'Head':
        return this.#readHead(bytes, out)
      case 'Length': {
        const part = bytes.subarray(0, this.#left)
        this.#left -= part.length
        out.push(part)
        if (this.#left === 0) this.#state = 'Idle'
        return bytes.subarray(part.length)
      }
      case 'ToClose':
      case 'Upgraded':
        out.push(bytes)
        return bytes.subarray(bytes.length)
      case 'Idle':
        // Bytes beyond the answer belong to no request. The connection must not be used again.
        this.#state = 'Over'
        return bytes.subarray(bytes.length)
      case 'Over':
        return bytes.subarray(bytes.length)
      default:
        return this.#readChunks(bytes, out)
    }
  }

  #readHead(bytes: Buffer, out: Buffer[]): Buffer {
    const head = this.#head === undefined ? bytes : Buffer.concat([this.#head, bytes])
    const searchedTo = this.#head === undefined ? 0 : Math.max(0, this.#head.length - 3)
    const start = startOfStatus(head)
    const end = start === undefined ? undefined : endOfHead(head, Math.max(start, searchedTo))
    if (end === undefined) {
      if (head.length > MAX_HEAD_BYTES) throw new Unreachable('nonsense')
      this.#head = head
      return bytes.subarray(bytes.length)
    }
    this.#head = undefined
    if (end > MAX_HEAD_BYTES) throw new Unreachable('nonsense')
    const text = this.#begin(head.toString('latin1', start, end))
    if (text !== undefined) out.push(Buffer.from(text, 'latin1'))
    return head.subarray(end)
  }

  /** Begins the answer with this head. Returns its new text; undefined for an interim answer, which browsers ignore. */
  #begin(head: string): string | undefined {
    if (head.includes('\0')) throw new Unreachable('nonsense')
    const lines = head.split('\n').map(line => line.replace(/\r+$/, '').replaceAll('\r', ' '))
    if (lines.length > MAX_HEAD_LINES) throw new Unreachable('nonsense')
    const { version, status, reason } = statusOf(lines.shift()!)
    const headers = headersOf(lines)
    if (status === 101) {
      if (!tokensOf(headers, 'connection').includes('upgrade') || valuesOf(headers, 'upgrade').length === 0)
        throw new Unreachable('nonsense')
      this.#state = 'Upgraded'
    } else if (status < 200) {
      if (++this.#interim > MAX_INTERIM) throw new Unreachable('nonsense')
      return undefined
    }
    const framing = this.#state === 'Upgraded' ? [] : this.#frame(headers, status, version)
    const kept = headers.filter(([name]) => !FRAMING.has(name.toLowerCase()))
    // `Upgrade` in other answers only offers another protocol.
    const others = status === 101 ? kept : kept.filter(([name]) => name.toLowerCase() !== 'upgrade')
    const fields = [...others, ...framing].map(([name, value]) => `${name}: ${value}\r\n`)
    return `HTTP/${version} ${status} ${reason}\r\n${fields.join('')}\r\n`
  }

  /** Decides how the body ends. Returns the headers that say so. */
  #frame(headers: Header[], status: number, version: string): Header[] {
    const encodings = tokensOf(headers, 'transfer-encoding')
    // Browsers read chunks only of HTTP/1.1, and in whatever place the encoding stands.
    const isChunked = version === '1.1' && encodings.includes('chunked')
    const lengths = new Set(valuesOf(headers, 'content-length'))
    const count = valuesOf(headers, 'content-length').length
    // A browser refuses an answer whose lengths differ. Equal ones count once.
    if (!isChunked && lengths.size > 1) throw new Unreachable('nonsense')
    const [first = ''] = lengths
    const length = !isChunked && LENGTH.test(first) ? Number(first) : undefined
    const lengthHeader: Header[] = length === undefined ? [] : [['Content-Length', String(length)]]
    if (this.#method === 'HEAD' || status === 204 || status === 304) {
      this.#state = 'Idle'
      return status === 204 ? [] : lengthHeader
    }
    // Another reader could find another end of such an answer, so its connection is not used for another one.
    const isClear = encodings.length === 0 ? count <= 1 : isChunked && encodings.length === 1 && count === 0
    const closing: Header[] = isClear ? [] : [['Connection', 'close']]
    if (isChunked) {
      this.#state = 'ChunkSize'
      return [...closing, ['Transfer-Encoding', 'chunked']]
    }
    this.#left = length ?? 0
    this.#state = length === undefined ? 'ToClose' : length === 0 ? 'Idle' : 'Length'
    return [...closing, ...lengthHeader]
  }

  /** Reads a chunked body up to its end or the end of the bytes. Parts that are well-formed are passed on as they are. */
  #readChunks(bytes: Buffer, out: Buffer[]): Buffer {
    let at = 0
    /** Begin of the well-formed bytes that are not in `out` yet. */
    let from = 0
    const replace = (until: number, text: string, next: number): void => {
      if (until > from) out.push(bytes.subarray(from, until))
      if (text !== '') out.push(Buffer.from(text, 'latin1'))
      from = next
    }
    while (at < bytes.length && this.#state !== 'Idle') {
      if (this.#state === 'Chunk') {
        const taken = Math.min(this.#left, bytes.length - at)
        this.#left -= taken
        at += taken
        if (this.#left === 0) this.#state = 'ChunkEnd'
        continue
      }
      const lineEnd = bytes.indexOf(LF, at)
      const end = lineEnd < 0 ? bytes.length : lineEnd + 1
      if ((this.#line?.length ?? 0) + end - at > MAX_LINE_BYTES) throw new Unreachable('nonsense')
      if (lineEnd < 0) {
        const part = bytes.subarray(at)
        this.#line = this.#line === undefined ? Buffer.from(part) : Buffer.concat([this.#line, part])
        replace(at, '', bytes.length)
        at = bytes.length
        break
      }
      const isWhole = this.#line === undefined
      const raw = isWhole
        ? bytes.toString('latin1', at, end)
        : this.#line!.toString('latin1') + bytes.toString('latin1', at, end)
      this.#line = undefined
      const text = this.#chunkLine(raw)
      if (!isWhole || text !== raw) replace(at, text, end)
      at = end
    }
    replace(at, '', at)
    return bytes.subarray(at)
  }

  /** Reads a line of a chunked body, from its begin to its line feed. Returns the line as it is passed on. */
  #chunkLine(raw: string): string {
    const line = raw.replace(/\r?\n$/, '')
    switch (this.#state) {
      case 'ChunkSize': {
        const [, size] = CHUNK_SIZE.exec(line.split(';', 1)[0]!.replace(/[ \t]+$/, '')) ?? []
        if (size === undefined) throw new Unreachable('nonsense')
        this.#left = Number.parseInt(size, 16)
        this.#state = this.#left === 0 ? 'Trailers' : 'Chunk'
        return `${size}\r\n`
      }
      case 'ChunkEnd':
        if (line !== '') throw new Unreachable('nonsense')
        this.#state = 'ChunkSize'
        return '\r\n'
      default:
        // Trailers are dropped up to the empty line that ends them.
        if (line !== '') return ''
        this.#state = 'Idle'
        return '\r\n'
    }
  }
}

/** Headers that say where a body ends. They are written anew. */
const FRAMING = new Set(['content-length', 'transfer-encoding'])

/** Index at which the status line begins; undefined while too few bytes have arrived. Throws `Unreachable` if there is none. */
function startOfStatus(head: Buffer): number | undefined {
  if (isTlsAlert(head)) throw new Unreachable('tls')
  for (let at = 0; at <= MAX_BEFORE_STATUS && at + 4 <= head.length; at++)
    if (head.toString('latin1', at, at + 4).toUpperCase() === 'HTTP') return at
  if (head.length >= MAX_BEFORE_STATUS + 4) throw new Unreachable('nonsense')
  return undefined
}

/** True for the begin of an alert of TLS: a service that expects TLS sends one when it gets plain HTTP (RFC 8446, 5.1 and 6). */
function isTlsAlert(head: Buffer): boolean {
  return head.length >= 5 && head[0] === 21 && head[1] === 3 && head.readUInt16BE(3) === 2
}

/** Index behind the empty line that ends the head; undefined if it has not arrived. Lines end with a line feed, with or without CR. */
function endOfHead(head: Buffer, start: number): number | undefined {
  for (let at = head.indexOf(LF, start); at >= 0; at = head.indexOf(LF, at + 1)) {
    if (head[at + 1] === LF) return at + 2
    if (head[at + 1] === CR && head[at + 2] === LF) return at + 3
  }
  return undefined
}

/** Reads a status line. A missing status is 200, as in Chromium. */
function statusOf(line: string): { version: '1.0' | '1.1'; status: number; reason: string } {
  const [, major, minor] = /^http\/(\d)\.(\d)/i.exec(line) ?? []
  const isCurrent = Number(major) > 1 || (major === '1' && Number(minor) >= 1)
  const [, code = '200', text = ''] = /^\S* +(\d+)(.*)$/.exec(line) ?? []
  const status = Number(code)
  if (status < 100 || status > 999) throw new Unreachable('nonsense')
  const reason = CONTROL.test(text) ? (STATUS_CODES[status] ?? '') : trimmed(text)
  return { version: isCurrent ? '1.1' : '1.0', status, reason }
}

/**
 * Reads the lines of a head. Lines that are no headers are dropped: without a colon, without a name, or with a name that is no token. A line that
 * begins with a blank continues the line before, or is dropped if that is no header.
 */
function headersOf(lines: readonly string[]): Header[] {
  const headers: Header[] = []
  let isContinuable = false
  for (const line of lines) {
    if (/^[ \t]/.test(line)) {
      const last = headers.at(-1)
      if (isContinuable && last) last[1] = trimmed(`${last[1]} ${cleaned(line)}`)
      continue
    }
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).replace(/[ \t]+$/, '')
    isContinuable = NAME.test(name)
    if (isContinuable) headers.push([name, cleaned(line.slice(colon + 1))])
  }
  return headers
}

/** A header's value in which each control character is a blank (RFC 9110, 5.5). */
function cleaned(value: string): string {
  return trimmed(CONTROL.test(value) ? value.replaceAll(CONTROLS, ' ') : value)
}

/** Text without blanks at its ends. `trim` would also remove U+00A0, which is the last byte of some UTF-8 characters in Latin-1. */
function trimmed(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '')
}

/** Values of a header that may be a list, without the commas. */
function valuesOf(headers: readonly Header[], name: string): string[] {
  return headers.flatMap(([each, value]) =>
    each.toLowerCase() === name ? value.split(',').map(trimmed) : [],
  )
}

function tokensOf(headers: readonly Header[], name: string): string[] {
  return valuesOf(headers, name).map(token => token.toLowerCase())
}
