import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import { ActionError, findAction, isConsolePath } from '@muster/actions'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { deviceUrl } from '../net/device-url.ts'
import { pathOf } from '../net/paths.ts'
import { isForPage } from './plain-pages.ts'

const DIST = join(import.meta.dirname, '../../../../console/dist')

/**
 * Serves the console's files. Assets are cached forever; the index page is never cached and gets a Content-Security-Policy for its
 * own scripts.
 */
export async function consoleRoutes(
  app: FastifyInstance,
  config: Config,
  publicUrl: () => string,
  folder = DIST,
): Promise<void> {
  const { connect: _, ...publicSettings } = config.console
  app.get('/api/config.json', async (_request, reply) => {
    const urls = { publicUrl: publicUrl(), deviceUrl: deviceUrl(config, publicUrl()) }
    return reply.header('cache-control', 'no-store').send({ ...publicSettings, ...urls })
  })

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
  const pages = {
    'index.html': pageOf(folder, 'index.html', config),
    // A console that was built by an older release has no sign-in page of its own.
    'login.html': pageOf(
      folder,
      existsSync(join(folder, 'login.html')) ? 'login.html' : 'index.html',
      config,
    ),
  }
  const policies = ownPolicies(folder)
  const files = new Set(
    readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => entry.name),
  )

  await app.register(fastifyStatic, { root: folder, serve: false, preCompressed: true, dotfiles: 'ignore' })
  // Assets have a root of their own, so that no other file, above all the index page, is served with their caching headers.
  const assets = join(folder, 'assets')
  app.get<{ Params: { '*': string } }>('/assets/*', (request, reply) =>
    reply.sendFile(request.params['*'], assets, { maxAge: '365d', immutable: true }),
  )
  app.setNotFoundHandler((request, reply) => {
    const path = pagePathOf(request, reply)
    const name = path.slice(1)
    if (files.has(name) && !(name in pages) && !name.startsWith('.')) {
      const own = policies[name]
      if (own !== undefined) reply.header('content-security-policy', own)
      // Browsers ask each time whether these files have changed.
      return reply.header('cache-control', 'no-cache').sendFile(name, { cacheControl: false })
    }
    const isPage = isConsolePath(path) || name === 'index.html'
    const { html, policy } = pages[/^login\/?$/i.test(name) ? 'login.html' : 'index.html']
    // A person gets the console's "not found" page. A program gets an error, so that it does not parse the page as a response.
    if (!isPage && !isForPage(request)) throw noSuchPath(request, path)
    return reply
      .code(isPage ? 200 : 404)
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('content-security-policy', policy)
      .send(html)
  })
}

/** A page with its Content-Security-Policy. */
function pageOf(folder: string, name: string, config: Config): { html: string; policy: string } {
  const html = withBanner(readFileSync(join(folder, name), 'utf8'), config)
  return { html, policy: contentSecurityPolicy(html, config) }
}

/**
 * A page with the text of the banner, so that the first paint has its height. The console replaces it by the banner with its links.
 * The text is without elements and escaped.
 */
function withBanner(index: string, { console: { banner } }: Config): string {
  if (!banner?.text) return index
  const text = banner.text
    .replace(/<[^>]*>/g, '')
    .replace(/[<>"']/g, character => `&#${character.codePointAt(0)};`)
  const placeholder = `<div class="banner"><span class="icon"></span><span>${text}</span></div>`
  // A function, because a replacement text would give `$` a meaning.
  return index.replaceAll('<!--banner-->', () => placeholder)
}

/** The path of a request for a page. Throws `Invalid` for paths of the API or of assets, and for methods other than GET and HEAD. */
function pagePathOf(request: FastifyRequest, reply: FastifyReply): string {
  const { method } = request
  const path = pathOf(request.url)
  const action = /^\/api\/v1\/actions\/invoke\/([^/]+)$/.exec(path)?.[1]
  if (action !== undefined && findAction(action)) {
    reply.header('allow', 'POST')
    throw new ActionError('Invalid', `Found ${method}, expected POST.`, { status: 405 })
  }
  if (/^\/(api|assets)(\/|$)/.test(path)) throw noSuchPath(request, path)
  if (method !== 'GET' && method !== 'HEAD') {
    reply.header('allow', 'GET, HEAD')
    throw new ActionError('Invalid', `${method} is not allowed here.`, { status: 405 })
  }
  return path
}

function noSuchPath({ method }: FastifyRequest, path: string): ActionError {
  return new ActionError('Invalid', `There is no ${method} ${path.slice(0, 200)}.`, { status: 404 })
}

/**
 * Content-Security-Policies of files other than the index page, by file name. The offline page contains its styles and its script,
 * because the service worker stores no other file. Its script only asks whether the hub answers. The service worker only loads pages.
 */
function ownPolicies(folder: string): Record<string, string> {
  const path = join(folder, 'offline.html')
  const page = existsSync(path) ? readFileSync(path, 'utf8') : ''
  return {
    'offline.html': [
      "default-src 'none'",
      ['script-src', ...inlineHashes(page, 'script')].join(' '),
      ['style-src', ...inlineHashes(page, 'style')].join(' '),
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'sw.js': "default-src 'none'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  }
}

/** Source expressions (SHA-256 hashes) of a Content-Security-Policy for the inline scripts or styles of a page. */
function inlineHashes(page: string, element: 'script' | 'style'): string[] {
  return [...page.matchAll(new RegExp(`<${element}>([\\s\\S]*?)</${element}>`, 'g'))].map(
    ([, text]) => `'sha256-${createHash('sha256').update(text!).digest('base64')}'`,
  )
}

/**
 * Content-Security-Policy of a page of the console. Allows the console's own scripts by path or hash, and the scripts that the operator's
 * `config.json` lists, together with the origins to which those scripts connect. Everything else is blocked (docs/decisions.md,
 * "Storage, cluster, operations").
 */
function contentSecurityPolicy(index: string, config: Config): string {
  const hashes = inlineHashes(index, 'script')
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
