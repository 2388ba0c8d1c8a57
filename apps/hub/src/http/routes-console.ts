import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'

const DIST = join(import.meta.dirname, '../../../console/dist')

/** The console's files: assets for ever, the index page never cached and with a policy made for its own scripts. */
export async function consoleRoutes(
  app: FastifyInstance,
  config: Config,
  publicUrl: () => string,
): Promise<void> {
  app.get('/api/config.json', async (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ ...config.console, publicUrl: publicUrl() }),
  )

  if (!existsSync(join(DIST, 'index.html'))) {
    app.setNotFoundHandler((_request, reply) =>
      reply
        .code(503)
        .type('text/plain; charset=utf-8')
        .send('The console is not built: start the hub with npm start.\n'),
    )
    return
  }
  const index = readFileSync(join(DIST, 'index.html'), 'utf8')
  const policy = contentSecurityPolicy(index, config)
  const files = new Set(
    readdirSync(DIST, { withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => entry.name),
  )

  await app.register(fastifyStatic, { root: DIST, serve: false, preCompressed: true })
  app.get<{ Params: { '*': string } }>('/assets/*', (request, reply) =>
    reply.sendFile(join('assets', request.params['*']), { maxAge: '365d', immutable: true }),
  )
  // Every other path is a page of the console, which knows its routes itself.
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]!
    if (path.startsWith('/api/'))
      return reply.code(404).send({ kind: 'Invalid', message: `There is no ${request.method} ${path}.` })
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return reply
        .code(405)
        .header('allow', 'GET, HEAD')
        .send({ kind: 'Invalid', message: `${request.method} is not allowed here.` })
    }
    const name = path.slice(1)
    if (files.has(name) && name !== 'index.html' && !name.startsWith('.')) return reply.sendFile(name)
    return reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('content-security-policy', policy)
      .send(index)
  })
}

/** Scripts of our own by place or hash, those of the operator's `config.json` by origin, and nothing else. */
function contentSecurityPolicy(index: string, config: Config): string {
  const hashes = [...index.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, script]) => `'sha256-${createHash('sha256').update(script!).digest('base64')}'`,
  )
  const origins = (config.console.scripts ?? [])
    .filter(({ src }) => !src.startsWith('/'))
    .map(({ src }) => new URL(src).origin)
  return [
    "default-src 'self'",
    ["script-src 'self'", ...hashes, ...origins].join(' '),
    "style-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...origins].join(' '),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
}
