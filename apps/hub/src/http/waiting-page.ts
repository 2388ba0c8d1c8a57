import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

const STYLE = `:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 20vh auto 0; padding: 0 1rem }
h1 { font-size: 1.4rem }`

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>One moment</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>One moment</h1>
<p>The hub is starting or stopping. This page loads again by itself.</p>
</main>
</body>
</html>
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** How long a browser waits before it asks again, in seconds. */
const AGAIN_SECS = 2

/** Whether a browser asks for a page to show: programs and the console's own requests want the error as it is. */
export function isForPage({ method, url, headers }: FastifyRequest): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    !/^\/(api|assets)(\/|$)/.test(url) &&
    headers.accept?.includes('text/html') === true
  )
}

/** What a person sees who comes while the hub is not ready; the address stays and is asked for again. */
export function sendWaitingPage(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('refresh', AGAIN_SECS)
    .header(
      'content-security-policy',
      `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-ancestors 'none'`,
    )
    .send(PAGE)
}
