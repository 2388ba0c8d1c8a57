import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import { ActionError } from '@muster/actions'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'

const DIST = join(import.meta.dirname, '../../../console/dist')

/** The console's files: assets for ever, the index page never cached and with a policy made for its own scripts. */
export async function consoleRoutes(
  app: FastifyInstance,
  config: Config,
  publicUrl: () => string,
  folder = DIST,
): Promise<void> {
  const { connect: _, ...told } = config.console
  app.get('/api/config.json', async (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ ...told, publicUrl: publicUrl() }),
  )

  if (!existsSync(join(folder, 'index.html'))) {
    app.setNotFoundHandler((request, reply) => {
      pagePathOf(request, reply)
      return reply
        .code(503)
        .type('text/plain; charset=utf-8')
        .send('The console is not built: start the hub with npm start.\n')
    })
    return
  }
  const index = readFileSync(join(folder, 'index.html'), 'utf8')
  const policy = contentSecurityPolicy(index, config)
  const files = new Set(
    readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => entry.name),
  )

  await app.register(fastifyStatic, { root: folder, serve: false, preCompressed: true, dotfiles: 'ignore' })
  // A root of their own: what lies beside them must not come out under their headers, the index page least of all.
  const assets = join(folder, 'assets')
  app.get<{ Params: { '*': string } }>('/assets/*', (request, reply) =>
    reply.sendFile(request.params['*'], assets, { maxAge: '365d', immutable: true }),
  )
  // Every other path is a page of the console, which knows its routes itself.
  app.setNotFoundHandler((request, reply) => {
    const name = pagePathOf(request, reply).slice(1)
    if (files.has(name) && name !== 'index.html' && !name.startsWith('.')) return reply.sendFile(name)
    return reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('content-security-policy', policy)
      .send(index)
  })
}

/** The path of a request that may be for a page; throws `Invalid` for the API's, for assets and for what is no read. */
function pagePathOf(request: FastifyRequest, reply: FastifyReply): string {
  const { method } = request
  const path = request.url.split('?')[0]!
  if (/^\/(api|assets)(\/|$)/.test(path))
    throw new ActionError('Invalid', `There is no ${method} ${path.slice(0, 200)}.`, { status: 404 })
  if (method !== 'GET' && method !== 'HEAD') {
    reply.header('allow', 'GET, HEAD')
    throw new ActionError('Invalid', `${method} is not allowed here.`, { status: 405 })
  }
  return path
}

/**
 * Scripts of our own by place or hash, those of the operator's `config.json` by origin with what they connect to, and nothing
 * else (decisions, "Console").
 */
function contentSecurityPolicy(index: string, config: Config): string {
  const hashes = [...index.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, script]) => `'sha256-${createHash('sha256').update(script!).digest('base64')}'`,
  )
  const { scripts = [], connect = [] } = config.console
  const origins = scripts.filter(({ src }) => !src.startsWith('/')).map(({ src }) => new URL(src).origin)
  const sources = (...all: string[]): string => [...new Set(all)].join(' ')
  return [
    "default-src 'self'",
    sources("script-src 'self'", ...hashes, ...origins),
    "style-src 'self'",
    "img-src 'self' data:",
    sources("connect-src 'self'", ...origins, ...connect.map(url => new URL(url).origin)),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
}
