import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'

/** Makes a signing secret of Standard Webhooks 1.0.0: 32 random bytes in base64 behind a prefix. */
export function newSigningSecret(): string {
  return `${PREFIX}${randomBytes(32).toString('base64')}`
}

/** Headers of Standard Webhooks 1.0.0 for a body. Each secret gives a signature, so that a receiver may have the former or the present one. */
export function signedHeaders(
  secrets: readonly string[],
  messageId: string,
  at: Date,
  body: string,
): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1000)
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}
