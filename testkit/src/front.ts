import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCertificate } from '@muster/link/certificate'
import { freePort } from './free-port.ts'
import { PROGRAMS } from './programs.ts'
import { until } from './until.ts'

const DOCUMENT = join(import.meta.dirname, '../../docs/operating.md')
const UNAVAILABLE = join(import.meta.dirname, '../../deploy/proxy/unavailable.html')

/** The value of `MUSTER_PROXY_SECRET` in the examples of docs/operating.md. */
export const FRONT_SECRET = 'at least sixteen characters'

/** A reverse proxy that terminates TLS in front of one or more hubs. */
export type FrontProgram = 'caddy' | 'haproxy' | 'nginx'

/** A running proxy in front of hubs. `folder` holds its logs and its cache. */
export type Front = AsyncDisposable & { url: string; port: number; pid: number; folder: string }

type Place = { folder: string; port: number; hubPorts: readonly number[] }
type Example = { files: (place: Place) => Record<string, string>; arguments: (folder: string) => string[] }

/** Number of connections, and of file descriptors, that the proxy must allow for the tests and benches. */
const CONNECTIONS = 10_000

const EXAMPLES: Record<FrontProgram, Example> = {
  nginx: {
    arguments: folder => ['-p', folder, '-c', join(folder, 'nginx.conf')],
    files({ folder, port, hubPorts }) {
      const site = hubPorts.length === 1 ? exampleOf('### nginx', 'nginx') : nginxOfNodes()
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      return {
        'nginx.conf': `daemon off; pid ${folder}/pid; error_log stderr crit;
         worker_processes 2; worker_rlimit_nofile ${2 * CONNECTIONS};
         events { worker_connections ${CONNECTIONS}; }
         http { access_log off;
           ${temporary.map(kind => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
           ${site.replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)} }`,
      }
    },
  },
  haproxy: {
    arguments: folder => ['-db', '-f', join(folder, 'haproxy.cfg')],
    files: ({ port }) => ({
      'haproxy.cfg': exampleOf('### Load balancer', 'haproxy').replace('bind :443', `bind 127.0.0.1:${port}`),
    }),
  },
  caddy: {
    arguments: folder => ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
    // `auto_https` and `skip_install_trust` keep Caddy from creating a certificate authority and from making the system trust it.
    // `strict_sni_host` must be off because the clients of the tests send no SNI.
    files: ({ folder, port }) => ({
      Caddyfile: `{
        admin off
        auto_https off
        skip_install_trust
        storage file_system ${folder}
        servers {
          strict_sni_host insecure_off
        }
      }
      ${exampleOf('### Caddy', 'caddy').replace('https://hub.example.com', `https://:${port}`)}`,
    }),
  },
}

/**
 * Starts a proxy in front of one hub, or of three, with the configuration that docs/operating.md prints. Only addresses, ports and paths
 * are replaced. `port` may be chosen before the hubs start, because they need it in `MUSTER_PUBLIC_URL`.
 */
export async function startFront(
  program: FrontProgram,
  hubPorts: readonly number[],
  port?: number,
): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-proxy-'))
  chmodSync(folder, 0o755)
  const place = { folder, port: port ?? (await freePort()), hubPorts }
  const example = EXAMPLES[program]
  const { certificatePem, keyPem } = createCertificate('localhost')
  const files = {
    'hub.pem': program === 'haproxy' ? certificatePem + keyPem : certificatePem,
    'hub.key': keyPem,
    'unavailable.html': readFileSync(UNAVAILABLE, 'utf8'),
    ...example.files(place),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), moved(text, place))
  const child = spawn(PROGRAMS[program].path, example.arguments(folder), {
    env: { ...process.env, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderrText = ''
  child.stderr.on('data', chunk => {
    stderrText += chunk
  })
  const front = {
    url: `https://localhost:${place.port}`,
    port: place.port,
    pid: child.pid!,
    folder,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        await ended
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    await until('the proxy answers', () => {
      if (child.exitCode !== null) throw new Error(`the proxy ended: ${stderrText}`)
      return answers(place.port)
    })
  } catch (error) {
    await front[Symbol.asyncDispose]()
    throw error
  }
  return front
}

/** The configuration of nginx that docs/operating.md prints for three nodes. */
export function nginxOfNodes(): string {
  const upstream = exampleOf('### Load balancer', 'nginx')
  return exampleOf('### nginx', 'nginx').replace(/^upstream muster \{\n[^}]*\}\n/m, upstream)
}

/** The first code block in this language after a heading of docs/operating.md. */
function exampleOf(heading: string, language: string): string {
  const text = readFileSync(DOCUMENT, 'utf8')
  const at = text.indexOf(`\n${heading}\n`)
  const [, block] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(text.slice(at)) ?? []
  if (at < 0 || block === undefined) throw new Error(`found no example in ${language} below "${heading}"`)
  return block
}

/** Replaces the paths and the addresses of hubs in an example. Removes the lines of nodes that the test does not start. */
function moved(text: string, { folder, hubPorts }: Place): string {
  const nodes = hubPorts.map((hubPort, at) => [`10.0.0.1${at + 1}:6878`, `127.0.0.1:${hubPort}`] as const)
  return [
    ['/etc/ssl/', `${folder}/`] as const,
    ['/etc/haproxy/', `${folder}/`] as const,
    ['/etc/nginx/muster', folder] as const,
    ['/var/cache/nginx/', `${folder}/`] as const,
    ['/var/log/nginx/', `${folder}/`] as const,
    ['127.0.0.1:6878', `127.0.0.1:${hubPorts[0]}`] as const,
    ...nodes,
  ]
    .reduce((moved, [from, to]) => moved.replaceAll(from, to), text)
    .replaceAll(/^ *server .*10\.0\.0\.1\d:6878.*\n/gm, '')
}

/** Whether the proxy responds. Any status counts, because the hubs may not run yet. */
function answers(port: number): Promise<boolean> {
  return new Promise(done => {
    get({ port, host: '127.0.0.1', path: '/healthz', rejectUnauthorized: false }, answer => {
      answer.resume()
      done(true)
    }).once('error', () => done(false))
  })
}
