import type { Config } from '../../platform/config/config.ts'
import { OWN_COOKIE } from './headers.ts'
import { PAGES, pageHtml } from './pages.ts'

/** Largest number of cookies that one answer removes. Chromium keeps at most 180 of a domain. */
const MAX_COOKIES = 180
/** Largest number of paths for which a cookie is removed. A page may set a cookie for any part of the path. */
const MAX_PATHS = 8
/** Largest number of domains above the proxy domain for which a cookie is removed. */
const MAX_PARENTS = 3
/** Largest size of all lines that remove cookies, in bytes. Browsers refuse heads above 256 KiB. */
const MAX_BYTES = 128 * 1024
const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]{1,256}$/

/**
 * The answer to a request whose head is too large because of cookies: a page that says so, and `Set-Cookie` lines that remove all of these cookies
 * but the hub's own. The script of one device's page can set cookies for the whole proxy domain and for the domains above it, and browsers send
 * them to all other pages. `packet` holds the bytes that arrived last: the begin of the head, or a part of its cookies. Returns undefined if there are no such cookies, or if the
 * request is known to be for another host, and where devices have no host names.
 */
export function largeCookiesAnswer(
  packet: Buffer,
  { proxyDomain: domain, publicUrl }: Pick<Config, 'proxyDomain' | 'publicUrl'>,
): string | undefined {
  if (domain === undefined) return undefined
  const text = packet.toString('latin1')
  const host = /\r\nhost:[ \t]*([^\r\n:]*)/i.exec(text)?.[1]
  if (host !== undefined && !host.toLowerCase().endsWith(`.${domain}`)) return undefined
  const names = cookieNames(text)
  if (names.length === 0) return undefined
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  const places = ['', ...domainsOf(domain).map(each => `; Domain=${each}`)]
  let lines = ''
  for (const name of names)
    for (const path of pathsOf(text))
      for (const place of places) {
        const line = `set-cookie: ${name}=; Path=${path}; Max-Age=0${place}${secure}\r\n`
        if (lines.length + line.length <= MAX_BYTES) lines += line
      }
  const page = PAGES.largeCookies
  const html = pageHtml(page)
  return (
    `HTTP/1.1 ${page.status} Request Header Fields Too Large\r\ncontent-type: text/html; charset=utf-8\r\n` +
    `content-length: ${Buffer.byteLength(html)}\r\ncache-control: no-store\r\nconnection: close\r\n` +
    "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'\r\n" +
    `x-content-type-options: nosniff\r\n${lines}\r\n${html}`
  )
}

/** Names of the cookies in a part of a head that are not the hub's own. */
function cookieNames(text: string): string[] {
  const begin = /\r\ncookie:[ \t]*/i.exec(text)
  // A part from the middle of the line begins within a cookie, whose name is not known.
  const line = begin ? text.slice(begin.index + begin[0].length) : text.slice(text.indexOf(';') + 1)
  const names = line
    .split('\r\n', 1)[0]!
    .split(';')
    .flatMap(pair => {
      const name = pair.slice(0, Math.max(pair.indexOf('='), 0)).trim()
      return NAME.test(name) && !OWN_COOKIE.test(name) ? [name] : []
    })
  return [...new Set(names)].slice(0, MAX_COOKIES)
}

/** The proxy domain and the domains above it. Browsers ignore a line for a domain that they know as a public suffix. */
function domainsOf(domain: string): string[] {
  const labels = domain.split('.')
  const parents = labels.slice(1, -1).map((_, at) => labels.slice(at + 1).join('.'))
  return [domain, ...parents.slice(0, MAX_PARENTS)]
}

/** Paths for which the cookies of a request may have been set: `/`, and each part of the request's path if it is known. */
function pathsOf(text: string): string[] {
  const [, path = '/'] = /^[A-Z]+ (\/[\x21-\x3a\x3c-\x3e\x40-\x7e]*)[? ]/.exec(text) ?? []
  const paths = ['/']
  for (let end = path.indexOf('/', 1); end > 0; end = path.indexOf('/', end + 1))
    paths.push(path.slice(0, end), path.slice(0, end + 1))
  paths.push(path)
  return [...new Set(paths)].slice(0, MAX_PATHS)
}
