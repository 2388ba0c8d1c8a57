import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Server } from 'node:https'
import { DEFAULT_CIPHERS, type TlsOptions } from 'node:tls'
import { ConfigError } from '../config.ts'
import type { InstanceKey } from '../instance-key.ts'
import type { Logger } from '../log.ts'

/** Files of the hub's own certificate, in PEM: the chain and its key. */
export type TlsFiles = { certPath: string; keyPath: string }

/** How often the files are looked at, in milliseconds: a renewed certificate needs no restart. */
const WATCH_MS = 10_000
/** How long a device may come back without a whole handshake, in seconds: over a night's outage of its hub. */
const SESSION_TIMEOUT_SECS = 24 * 60 * 60

/**
 * What Node offers, in another order: AES with 128 bits and SHA-256 first. It is as safe for what lives as long as a connection, and
 * cheaper on both sides, most of all on devices whose processors know neither.
 */
const CIPHERS = `TLS_AES_128_GCM_SHA256:${DEFAULT_CIPHERS}`

/** Reads a certificate with its key. Throws `ConfigError` when they cannot be read or do not belong together. */
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

/**
 * What a server needs to speak TLS. Sessions are resumed at any node and after any restart, since the keys of their tickets are the
 * instance's; whether a device may still come in is asked of the database each time, not of its ticket. Throws `ConfigError`.
 */
export function tlsOptions(files: TlsFiles, instanceKey: InstanceKey): TlsOptions {
  return {
    ...readTls(files),
    ticketKeys: Buffer.concat([instanceKey('tls ticket name').subarray(0, 16), instanceKey('tls ticket')]),
    sessionIdContext: 'muster',
    sessionTimeout: SESSION_TIMEOUT_SECS,
    ciphers: CIPHERS,
  }
}

/** Gives servers a renewed certificate when its files change; one that cannot be used leaves the old one in place. */
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
      const options = tlsOptions(files, instanceKey)
      for (const server of servers) server.setSecureContext(options)
      log.info({ validTo: new X509Certificate(options.cert as string).validTo }, 'certificate renewed')
      seen = now
    } catch (error) {
      // The two files are not written at once, nor may their folder be readable at any time: it may be right the next time.
      log.warn({ err: error }, 'the new certificate cannot be used')
    }
  }, watchMs)
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
