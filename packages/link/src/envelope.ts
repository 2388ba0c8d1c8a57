import { ProtocolError, RemoteActionError } from './errors.ts'

/** Error kinds of the protocol (3.2). */
export type WireErrorKind = 'Invalid' | 'Forbidden' | 'Internal' | 'RateLimited'

/**
 * The answer of an action that succeeded: exactly two keys. `undefined` becomes the empty object (protocol 0.2).
 */
export function okEnvelope(value: unknown): string {
  return okEnvelopeOfJson(JSON.stringify(value) ?? '{}')
}

/** Like okEnvelope for a value that is JSON text already. */
export function okEnvelopeOfJson(json: string): string {
  return `{"result":"Ok","value":${json}}`
}

/**
 * The answer of an action that failed: exactly two keys. Old peers cannot read `RateLimited`, so it
 * becomes `Internal` unless the peer is known to be new enough.
 */
export function errorEnvelope(
  kind: WireErrorKind,
  message: string,
  peer?: { readonly knowsRateLimited: boolean },
): string {
  const known = kind === 'RateLimited' && !peer?.knowsRateLimited ? 'Internal' : kind
  return JSON.stringify({ result: 'Error', error: { kind: known, message } })
}

function hasExactly(value: object, first: string, second: string): boolean {
  return Object.keys(value).length === 2 && Object.hasOwn(value, first) && Object.hasOwn(value, second)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the value of an answer. Throws RemoteActionError for an error envelope and ProtocolError for anything else. A
 * third key is an error as well, because public clients refuse it (protocol 0.2).
 */
export function parseEnvelope(text: string): unknown {
  let envelope: unknown
  try {
    envelope = JSON.parse(text)
  } catch (cause) {
    throw new ProtocolError('the response is no JSON', { cause })
  }
  if (!isObject(envelope)) throw new ProtocolError('the response is no envelope')
  if (envelope.result === 'Ok' && hasExactly(envelope, 'result', 'value')) return envelope.value
  const error = envelope.error
  if (envelope.result === 'Error' && hasExactly(envelope, 'result', 'error') && isObject(error)) {
    const { kind, message } = error
    if (typeof kind === 'string' && typeof message === 'string') throw new RemoteActionError(kind, message)
  }
  throw new ProtocolError('the response is no envelope')
}
