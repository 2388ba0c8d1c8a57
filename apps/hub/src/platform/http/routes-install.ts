import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { ActionError, isLoopback, offersInstall } from '@muster/actions'
import { VERSION } from '@muster/actions/version'
import { FairLimiter } from '@muster/concurrency'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { countedAs } from '../limits/counted-address.ts'
import { deviceUrl } from '../net/device-url.ts'
import { isLoopbackAddress, remoteAddress, trustedProxy } from '../net/trusted-proxy.ts'
import { replyWithFile } from './send-file.ts'

/** The agent as `tools/build-console.ts` packs it. */
const AGENT = join(import.meta.dirname, '../../../../agent/dist/muster-agent')
/** systemd unit of the agent, the same as in the Debian package. */
const UNIT = join(import.meta.dirname, '../../../../agent/examples/muster-agent.service')
/** Text in the script that the hub replaces by the unit. */
const UNIT_PLACEHOLDER = '@MUSTER_AGENT_UNIT@'
/** Fingerprint script of the agent, the same as in the packages. */
const FINGERPRINT = join(import.meta.dirname, '../../../../agent/examples/fingerprint')
/** Text in the script that the hub replaces by the fingerprint script. */
const FINGERPRINT_PLACEHOLDER = '@MUSTER_FINGERPRINT@'
/** Text in the script that the hub replaces by its public URL. */
const PLACEHOLDER = '@MUSTER_PUBLIC_URL@'
/** Text in the script that the hub replaces by the URL to which devices connect. */
const DEVICE_PLACEHOLDER = '@MUSTER_DEVICE_URL@'
/**
 * Limits of concurrent downloads of the agent and of Node, in total and per client IP. Anybody may download them, and each download holds
 * a file descriptor. While others download, a client IP has half of the downloads that these leave, so that two of them do not take all.
 */
const DOWNLOADS = { max: 32, maxPerOwner: 16, maxShareOfFree: 0.5, maxWaiting: 0 }
/** `Retry-After` for refused clients, in seconds. */
const RETRY_SECS = 10

/**
 * Routes with which a Linux device installs the agent of this hub's version (docs/operating.md, "The agent on a device"): the script,
 * the packed agent, Node for the hub's own architecture, and a manifest with their digests.
 */
export function installRoutes(
  app: FastifyInstance,
  config: Config,
  publicUrl: () => string,
  agentFile = AGENT,
): void {
  const unit = readFileSync(UNIT, 'utf8').trimEnd()
  const fingerprint = readFileSync(FINGERPRINT, 'utf8').trimEnd()
  const template = readFileSync(join(import.meta.dirname, 'install.sh'), 'utf8')
    .replace(UNIT_PLACEHOLDER, () => unit)
    .replace(FINGERPRINT_PLACEHOLDER, () => fingerprint)
  // The script has the URLs in single quotes.
  const quoted = (url: string): string => url.replaceAll("'", "'\\''")
  const script = () =>
    template
      .replace(PLACEHOLDER, () => quoted(publicUrl()))
      .replace(DEVICE_PLACEHOLDER, () => quoted(deviceUrl(config, publicUrl())))
  const isProxy = trustedProxy(config)
  const digests = new Digests()
  const node = process.platform === 'linux' ? `node-linux-${process.arch}` : undefined
  const downloads = new FairLimiter(DOWNLOADS)

  /** Throws `Forbidden` if a third party on the network could change the response. */
  const requireSafe = ({ raw }: FastifyRequest): void => {
    const isLocal = isLoopbackAddress(remoteAddress(raw))
    const isPassedOn = isLocal || isProxy(raw)
    // A proxy may accept plain HTTP from its clients. The last value is that of the proxy next to the hub.
    const protocol = String(raw.headers['x-forwarded-proto'] ?? 'https')
      .split(',')
      .at(-1)!
    const isPlain = isPassedOn && protocol.trim().toLowerCase() !== 'https'
    const isSafe =
      !isPlain && (isLoopback(publicUrl()) ? isLocal : isPassedOn || raw.socket instanceof TLSSocket)
    if (!isSafe || !offersInstall(publicUrl())) {
      throw new ActionError(
        'Forbidden',
        isPlain
          ? `The agent is offered over HTTPS. Found a request that a proxy accepted over plain HTTP, expected X-Forwarded-Proto: https from the proxy.`
          : `The agent is offered over HTTPS, and on the hub's own machine. Found ${publicUrl()} as address of this hub, expected an https:// URL in MUSTER_PUBLIC_URL, or a request from this machine.`,
        { status: 403 },
      )
    }
  }

  const digestOf = async (path: string): Promise<string> => {
    try {
      return await digests.of(path)
    } catch (cause) {
      throw new ActionError(
        'Internal',
        'Found no packed agent, expected one: start the hub with npm start.',
        {
          status: 503,
          cause,
        },
      )
    }
  }

  const download = async (request: FastifyRequest, reply: FastifyReply, path: string, filename: string) => {
    requireSafe(request)
    const sha256 = await digestOf(path)
    const { raw: response } = reply
    const { socket } = request.raw
    const permit = await downloads.enter({ owner: countedAs(request.remote) }).catch((cause: unknown) => {
      throw new ActionError(
        'RateLimited',
        'Too many downloads of the agent at once, try again in a moment.',
        { status: 503, retryAfterSecs: RETRY_SECS, cause },
      )
    })
    // The client may have left while the file was hashed. Its socket has emitted `close` already.
    if (socket.destroyed) {
      permit.release()
      return reply.hijack()
    }
    // A pipelined response that was never sent emits no `close`, so the socket's `close` releases the permit as well.
    for (const ending of [response, socket]) ending.once('close', permit.release)
    return replyWithFile(request, reply, { path, sha256, filename, isPublic: true })
  }

  app.get('/install.sh', async (request, reply) => {
    requireSafe(request)
    return reply.type('text/plain; charset=utf-8').header('cache-control', 'no-cache').send(script())
  })
  app.get('/install/manifest', async (request, reply) => {
    requireSafe(request)
    const files = {
      'muster-agent': await digestOf(agentFile),
      'install.sh': createHash('sha256').update(script()).digest('hex'),
      ...(node && { [node]: await digestOf(process.execPath) }),
    }
    const lines = Object.entries({ version: VERSION, ...files }).map(([name, value]) => `${name} ${value}\n`)
    return reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store').send(lines.join(''))
  })
  app.get('/muster-agent', (request, reply) => download(request, reply, agentFile, 'muster-agent'))
  if (node) app.get('/install/node', (request, reply) => download(request, reply, process.execPath, 'node'))
}

/** SHA-256 digests of files. A file is read again only after it was replaced. */
class Digests {
  readonly #known = new Map<string, { version: string; sha256: Promise<string> }>()

  /** Digest of a file in hex. Rejects if the file cannot be read. */
  async of(path: string): Promise<string> {
    const { mtimeMs, size, ino } = await stat(path)
    const version = `${mtimeMs} ${size} ${ino}`
    const known = this.#known.get(path)
    if (known?.version === version) return known.sha256
    const sha256 = this.#hash(path)
    this.#known.set(path, { version, sha256 })
    // A failed read is tried again by the next request.
    sha256.catch(() => this.#known.delete(path))
    return sha256
  }

  async #hash(path: string): Promise<string> {
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
    return hash.digest('hex')
  }
}
