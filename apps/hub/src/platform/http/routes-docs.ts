import { type Action, actions } from '@muster/actions'
import { openApiDocument, whoMay } from '@muster/actions/openapi'
import type { FastifyInstance } from 'fastify'
import { escapeHtml } from './escape-html.ts'

type Schemas = Record<string, { post: { requestBody: Content; responses: Record<string, Content> } }>
type Content = { content: { 'application/json': { schema: unknown } } }

let built: { document: ReturnType<typeof openApiDocument>; page: Buffer } | undefined

/** Returns the OpenAPI document and the page of `/api/docs`. Both are built once per process, because tests start many hubs in one. */
function description(): NonNullable<typeof built> {
  if (built) return built
  const document = openApiDocument()
  built = { document, page: Buffer.from(docsPage(document.paths as Schemas)) }
  return built
}

/** The description of the API: `/api/openapi.json` for programs and `/api/docs` for people. */
export function docsRoutes(app: FastifyInstance, publicUrl: () => string): void {
  const { document, page } = description()
  // Serialized once. Unauthenticated clients may request the document, and serializing 250 KB for each request would block the event loop.
  let openApi: Buffer | undefined
  app.get('/api/openapi.json', async (_request, reply) => {
    openApi ??= Buffer.from(JSON.stringify({ ...document, servers: [{ url: publicUrl() }] }))
    return reply.type('application/json; charset=utf-8').send(openApi)
  })
  app.get('/api/docs', async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header(
        'content-security-policy',
        "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      .send(page),
  )
  app.get('/api/docs.css', async (_request, reply) => reply.type('text/css; charset=utf-8').send(STYLE))
}

function docsPage(paths: Schemas): string {
  const areas = Map.groupBy(Object.entries(actions) as [string, Action][], ([name]) => name.split('_')[0]!)
  const contents = [...areas].map(
    ([area, list]) =>
      `<li><b>${area}</b><ul>${list.map(([name]) => `<li><a href="#${name}">${name}</a></li>`).join('')}</ul></li>`,
  )
  const sections = [...areas].flatMap(([area, list]) => [
    `<h2>${area}</h2>`,
    ...list.map(([name, action]) => {
      const { requestBody, responses } = paths[`/api/v1/actions/invoke/${name}`]!.post
      return `<article id="${name}"><h3>${name}</h3><p>${escapeHtml(action.summary)}</p>
<dl><dt>Kind</dt><dd>${action.kind}</dd><dt>Who</dt><dd>${escapeHtml(whoMay(action.permission))}</dd></dl>
<details><summary>Input</summary><pre>${jsonOf(requestBody)}</pre></details>
<details><summary>Output</summary><pre>${jsonOf(responses[200]!)}</pre></details></article>`
    }),
  ])
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>API · Muster</title><link rel="stylesheet" href="/api/docs.css"></head><body>
<nav aria-label="Actions"><ul>${contents.join('')}</ul></nav>
<main><h1>Muster API</h1>
<p>Everything that anybody does to the hub is an action: <code>POST /api/v1/actions/invoke/{name}</code> with its input as JSON,
answered with its output. Sign in with a session cookie or send <code>Authorization: Bearer u_sk_…</code>. Failures are
<code>{"kind", "message", "issues"?, "requestId"}</code> with kind Invalid, Forbidden, Internal or RateLimited.
The same as <a href="/api/openapi.json">OpenAPI 3.1</a>.</p>
${sections.join('\n')}</main></body></html>`
}

function jsonOf(body: Content): string {
  return escapeHtml(JSON.stringify(body.content['application/json'].schema, null, 2))
}

const STYLE = `:root{color-scheme:light dark;--canvas:#faf9f6;--surface:#fff;--line:#d3d2cc;--text:#171c24;--text-2:#4a4f57;--accent:#1d4bc0}
@media (prefers-color-scheme:dark){:root{--canvas:#0c0f15;--surface:#14171e;--line:#2e333d;--text:#eef0f4;--text-2:#babec6;--accent:#98baff}}
body{margin:0;display:grid;grid-template-columns:280px minmax(0,1fr);background:var(--canvas);color:var(--text);font:14px/20px system-ui,sans-serif}
nav{position:sticky;top:0;height:100vh;overflow:auto;border-right:1px solid var(--line);padding:24px 20px;box-sizing:border-box}
ul{list-style:none;margin:0 0 12px;padding:0}main{max-width:880px;padding:32px 40px 64px}a{color:var(--accent)}nav a{text-decoration:none}
h1{font-size:22px;line-height:28px}h2{margin-top:40px}article{background:var(--surface);border:1px solid var(--line);border-radius:10px;padding:16px 20px;margin:16px 0;scroll-margin-top:16px}
h3,pre,code,nav a{font-family:ui-monospace,monospace}h3{margin:0;font-size:14px}nav a{font-size:12px}
dl{display:grid;grid-template-columns:60px 1fr;gap:2px 12px;color:var(--text-2)}dd{margin:0}pre{overflow:auto;font-size:12px;line-height:18px}summary{cursor:pointer;padding:4px 0}
@media (max-width:820px){body{display:block}nav{position:static;height:auto;border:0}main{padding:16px}}`
