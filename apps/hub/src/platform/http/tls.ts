import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Server } from 'node:https'
import { DEFAULT_CIPHERS, type SecureContext, type TlsOptions } from 'node:tls'
import type { TlsFiles } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import type { InstanceKey } from '../credentials/instance-key.ts'
import type { Readiness } from '../database/server/readiness.ts'
import type { Logger } from '../runtime/log.ts'

/** Interval at which the certificate files are read, in milliseconds. A renewed certificate needs no restart of the hub. */
const WATCH_MS = 10_000
/** Time within which a device may resume its TLS session, in seconds: it covers an outage of the hub overnight. */
const SESSION_TIMEOUT_SECS = 24 * 60 * 60
/** Rotation interval of the ticket keys, in milliseconds: a week. */
const TICKET_KEYS_MS = 7 * 24 * 60 * 60 * 1000

/**
 * Node's cipher list with `TLS_AES_128_GCM_SHA256` first. This cipher suite is safe for the lifetime of a connection and costs less
 * CPU on both sides, above all on devices without AES instructions.
 */
const CIPHERS = `TLS_AES_128_GCM_SHA256:${DEFAULT_CIPHERS}`

/**
 * Removes the cipher suites whose authentication is an HMAC. These are all that use CBC; the suites of TLS 1.3 and those with GCM or ChaCha20
 * stay.
 */
const WITHOUT_CBC = ':!SHA1:!SHA256:!SHA384'

/** Key exchange without ML-KEM. It saves 12 % of the processor time of a handshake with client certificates. */
const CLASSIC_GROUPS = 'X25519:P-256:P-384:P-521'

/** Reads a certificate and its key. Throws `ConfigError` if they cannot be read or do not belong together. */
export function readTls({ certPath, keyPath }: TlsFiles): { cert: string; key: string } {
  const cert = readFile('MUSTER_TLS_CERT', certPath, 'a certificate in PEM')
  const key = readFile('MUSTER_TLS_KEY', keyPath, 'a private key in PEM')
  const certificate = parsed(
    'MUSTER_TLS_CERT',
    certPath,
    'a certificate in PEM',
    () => new X509Certificate(cert),
  )
  const privateKey = parsed('MUSTER_TLS_KEY', keyPath, 'a private key in PEM', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey))
    throw new ConfigError(`MUSTER_TLS_KEY: found ${keyPath}, expected the key of ${certPath}.`)
  return { cert, key }
}

/** TLS options of a server; `useTicketKeys` adds the keys of its session tickets. Throws `ConfigError`. */
export function tlsOptions(files: TlsFiles): TlsOptions {
  return {
    ...readTls(files),
    sessionIdContext: 'muster',
    sessionTimeout: SESSION_TIMEOUT_SECS,
    ciphers: files.refusesCbc ? CIPHERS + WITHOUT_CBC : CIPHERS,
    ...(files.isClassicExchange && { ecdhCurve: CLASSIC_GROUPS }),
    // Also where Node was started with an option for older versions.
    minVersion: 'TLSv1.2',
  }
}

/** Keys of session tickets, 16 bytes each. */
type TicketKey = { name: Buffer; hmac: Buffer; aes: Buffer }
/** Return value of Node's ticket callback: 0 for an unknown ticket, 1 for a valid ticket, 2 for a valid ticket to renew. */
type TicketAnswer = [status: 0 | 1 | 2, hmac: Buffer, aes: Buffer, name?: Buffer, iv?: Buffer]
/** Undocumented members of Node's secure context that the documented `ticketKeys` option uses. */
type TicketContext = {
  onticketkeycallback?: (name: Buffer, iv: Buffer, isNew: boolean) => TicketAnswer
  enableTicketKeyCallback?: () => void
}

/**
 * Sets the session ticket keys of a server. They are derived from the instance's key and the week. Sessions therefore resume at
 * any node and after a restart, and a stolen ticket key decrypts at most a week of handshakes. The previous week's key is
 * accepted for `SESSION_TIMEOUT_SECS`, the longest life of a ticket. A ticket grants no rights: each device is authenticated
 * again after resumption. Node's documented `ticketKeys` option holds only one key, so the keys of two weeks could not overlap.
 * If a Node version has no ticket callback, each process uses random keys, and a session resumes only at the process that
 * issued its ticket.
 */
export function useTicketKeys(server: Server, instanceKey: InstanceKey, now: () => number = Date.now): void {
  const { context } = (server as Server & { _sharedCreds: SecureContext })._sharedCreds
  const tickets = context as TicketContext
  let latest: { week: number; key: TicketKey } | undefined
  const keyAt = (ms: number): TicketKey => {
    const week = Math.floor(ms / TICKET_KEYS_MS)
    if (latest?.week === week) return latest.key
    const secret = instanceKey(`tls ticket ${week}`)
    const name = instanceKey(`tls ticket name ${week}`).subarray(0, 16)
    const key = { name, hmac: secret.subarray(0, 16), aes: secret.subarray(16) }
    if (week > (latest?.week ?? -1)) latest = { week, key }
    return key
  }
  tickets.onticketkeycallback = (name, _iv, isNew) => {
    const current = keyAt(now())
    const { hmac, aes } = current
    if (isNew) return [1, hmac, aes, current.name, randomBytes(16)]
    if (name.equals(current.name)) return [1, hmac, aes]
    const previous = keyAt(now() - SESSION_TIMEOUT_SECS * 1000)
    return [name.equals(previous.name) ? 2 : 0, previous.hmac, previous.aes]
  }
  tickets.enableTicketKeyCallback?.()
}

/** Reloads certificates when their files change. Unusable files leave the old certificate in place. */
export function watchTls(
  files: TlsFiles,
  instanceKey: InstanceKey,
  servers: readonly Server[],
  log: Logger,
  watchMs = WATCH_MS,
): Disposable {
  let seen = changedAt(files)
  const timer = setInterval(() => {
    try {
      const now = changedAt(files)
      if (now === seen) return
      const options = tlsOptions(files)
      for (const server of servers) {
        server.setSecureContext(options)
        useTicketKeys(server, instanceKey)
      }
      log.info({ validTo: new X509Certificate(options.cert as string).validTo }, 'certificate renewed')
      seen = now
    } catch (error) {
      // A renewal may replace the two files one after the other, so that they do not match for a moment. The next check tries again.
      log.warn({ err: error }, 'the new certificate cannot be used')
    }
  }, watchMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/**
 * Reports an expired certificate in the log, and as a reason for the state `degraded`, so that a failed renewal is noticed.
 */
export function watchExpiry(
  { certPath }: TlsFiles,
  readiness: Pick<Readiness, 'degrade' | 'restore'>,
  log: Logger,
  watchMs = WATCH_MS,
): Disposable {
  let isExpired = false
  const check = (): void => {
    let endsAt: Date
    try {
      endsAt = new X509Certificate(readFileSync(certPath)).validToDate
    } catch {
      // Ignores an unusable file here, because `watchTls` reports it.
      return
    }
    const wasExpired = isExpired
    isExpired = endsAt.getTime() < Date.now()
    if (isExpired === wasExpired) return
    if (isExpired) {
      readiness.degrade('certificate', `the certificate of the hub expired at ${endsAt.toISOString()}`)
      log.error({ endsAt }, 'the certificate of the hub has expired')
    } else readiness.restore('certificate')
  }
  check()
  const timer = setInterval(check, watchMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

function changedAt({ certPath, keyPath }: TlsFiles): string {
  return [certPath, keyPath].map(path => statSync(path, { throwIfNoEntry: false })?.mtimeMs).join(' ')
}

function readFile(setting: string, path: string, expected: string): string {
  return parsed(setting, path, expected, () => readFileSync(path, 'utf8'))
}

function parsed<Value>(setting: string, path: string, expected: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new ConfigError(`${setting}: found ${path} (${code ?? message}), expected ${expected}.`)
  }
}
