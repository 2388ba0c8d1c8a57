import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { escapeHtml } from './escape-html.ts'

const STYLE = `:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 20vh auto 0; padding: 0 1rem }
h1 { font-size: 1.4rem }`

type Page = { title: string; text: string }

const html = ({ title, text }: Page): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${text}</p>
</main>
</body>
</html>
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'`,
}

/** Page for browsers while the hub starts or stops. The browser reloads it after `againSecs` seconds. */
export const WAITING_PAGE = {
  title: 'One moment',
  text: 'The hub is starting or stopping. This page loads again by itself.',
  againSecs: 2,
}

/** Page for requests under a host name that does not belong to the hub. `message` says which setting adds a host name. */
export function wrongHostPage(message: string): Page {
  return { title: 'Not the address of this hub', text: escapeHtml(message) }
}

const LARGE_HEAD_PAGE = {
  title: 'Too many cookies, or too long an address',
  text:
    'Address, cookies and other headers of this request take more than 16 KiB together, and the hub reads no more. Remove the cookies of ' +
    'this site in your browser, or shorten the address, then load the page again.',
}

/**
 * The whole answer to a browser whose request has too large a head; undefined for a request of a program, which gets JSON. `packet` holds the
 * bytes that arrived last. They may be a later part of the head. Only browsers have so many cookies, so that part counts as theirs.
 */
export function largeHeadAnswer(packet: Buffer, headers: Record<string, string>): string | undefined {
  const text = packet.toString('latin1')
  const isWhole = /^[A-Z]+ \S/.test(text)
  if (isWhole && !/^(GET|HEAD) (?!\/(api|assets)(\/|$))[\s\S]*\r\naccept:[^\r]*text\/html/i.test(text))
    return undefined
  const body = html(LARGE_HEAD_PAGE)
  const all = { ...headers, ...PAGE_HEADERS, connection: 'close', 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 431 Request Header Fields Too Large\r\n${lines.join('')}\r\n${body}`
}

/** Whether the request is a browser's navigation to a page. All other requests get their errors as JSON. */
export function isForPage({ method, url, headers }: FastifyRequest): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    !/^\/(api|assets)(\/|$)/.test(url) &&
    headers.accept?.includes('text/html') === true
  )
}

/** Sends a page that needs neither the console's files nor the database. */
export function sendPage(reply: FastifyReply, status: number, page: Page): FastifyReply {
  return reply.code(status).headers(PAGE_HEADERS).send(html(page))
}
